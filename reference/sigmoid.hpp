// Logistic sigmoid of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// 1 ÷ (1 + e⁻ˣ), element by element.
inline Array sigmoid(const Array& x) {
  return map(x, [](double value) { return 1 / (1 + std::exp(-value)); });
}

/// The gradient by x from y and the upstream gradient.
inline Array sigmoid_gradient(const Array& y, const Array& upstream) {
  return map(y, upstream, [](double value, double gradient) { return gradient * value * (1 - value); });
}

}  // namespace assay::reference
