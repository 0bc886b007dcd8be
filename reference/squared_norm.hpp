// Sum of squares of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

inline double squared_norm(const Array& x) {
  double total = 0;
  for (double value : x.values) total += value * value;
  return total;
}

}  // namespace assay::reference
