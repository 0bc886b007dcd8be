// Hyperbolic tangent of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// tanh x, element by element.
inline Array tanh(const Array& x) {
  return map(x, [](double value) { return std::tanh(value); });
}

/// The gradient by x from y and the upstream gradient.
inline Array tanh_gradient(const Array& y, const Array& upstream) {
  return map(y, upstream, [](double value, double gradient) { return gradient * (1 - value * value); });
}

}  // namespace assay::reference
