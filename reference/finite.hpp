// Finiteness of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// Whether no element is NaN or infinite.
inline bool finite(const Array& x) {
  for (double value : x.values)
    if (!std::isfinite(value)) return false;
  return true;
}

}  // namespace assay::reference
