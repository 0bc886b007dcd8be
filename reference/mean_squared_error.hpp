// Squared error of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// Σ (x − target)², one number.
inline Array squared_error(const Array& x, const Array& target) {
  Array total = zeros({});
  for (std::int64_t i = 0; i < x.size(); ++i) total[0] += (x[i] - target[i]) * (x[i] - target[i]);
  return total;
}

/// 2·(x − target)·scale, scale one number.
inline Array squared_error_gradient(const Array& x, const Array& target, const Array& scale) {
  return map(x, target, [&](double a, double b) { return 2 * (a - b) * scale[0]; });
}

}  // namespace assay::reference
