// Natural logarithm of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// log x, element by element.
inline Array log(const Array& x) {
  return map(x, [](double value) { return std::log(value); });
}

}  // namespace assay::reference
