// Gaussian error linear unit of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// Φ(x), Φ the normal distribution function, element by element.
inline Array normal_below(const Array& x) {
  return map(x, [](double value) { return 0.5 * std::erfc(-value / std::sqrt(2.0)); });
}

/// x·Φ(x).
inline Array gelu(const Array& x) {
  return map(x, [](double value) { return 0.5 * value * (1 + std::erf(value / std::sqrt(2.0))); });
}

/// The gradient by x from x, Φ(x) and the upstream gradient.
inline Array gelu_gradient(const Array& x, const Array& below, const Array& upstream) {
  Array gradient = zeros(x.shape);
  for (std::int64_t i = 0; i < x.size(); ++i)
    gradient[i] = upstream[i] * (below[i] + x[i] * std::exp(-x[i] * x[i] / 2) / std::sqrt(2 * std::acos(-1.0)));
  return gradient;
}

}  // namespace assay::reference
