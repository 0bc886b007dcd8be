// Dropout of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// x/(1 − p) where the mask is not 0, else 0.
inline Array dropout(const Array& x, const Array& mask, double p) {
  return map(x, mask, [p](double value, double kept) { return kept != 0 ? value / (1 - p) : 0; });
}

}  // namespace assay::reference
