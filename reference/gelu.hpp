// Gaussian error linear unit of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// x·Φ(x), Φ the normal distribution function, element by element.
inline Array gelu(const Array& x) {
  return map(x, [](double value) { return 0.5 * value * (1 + std::erf(value / std::sqrt(2.0))); });
}

/// The gradient by x from x and the upstream gradient.
inline Array gelu_gradient(const Array& x, const Array& upstream) {
  return map(x, upstream, [](double value, double gradient) {
    double below = 0.5 * std::erfc(-value / std::sqrt(2.0));
    double density = std::exp(-value * value / 2) / std::sqrt(2 * std::acos(-1.0));
    return gradient * (below + value * density);
  });
}

}  // namespace assay::reference
