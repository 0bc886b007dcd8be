// Exponential function of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// eˣ, element by element.
inline Array exp(const Array& x) {
  return map(x, [](double value) { return std::exp(value); });
}

}  // namespace assay::reference
