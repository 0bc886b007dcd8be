// Rectifier of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// max(x, 0); NaN stays.
inline Array relu(const Array& x) {
  return map(x, [](double value) { return value <= 0 ? 0.0 : value; });
}

/// upstream where x is positive, else 0.
inline Array relu_gradient(const Array& x, const Array& upstream) {
  return map(x, upstream, [](double value, double gradient) { return value <= 0 ? 0.0 : gradient; });
}

}  // namespace assay::reference
