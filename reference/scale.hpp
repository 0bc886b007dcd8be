// Multiplication by a scalar, of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

inline Array scale(const Array& x, double factor) {
  return map(x, [factor](double value) { return value * factor; });
}

}  // namespace assay::reference
