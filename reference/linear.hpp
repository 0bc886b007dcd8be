// Affine map of the oracle.
#pragma once

#include "reference/matmul.hpp"

namespace assay::reference {

/// y = x·wᵀ + b, and max(y, 0) with `relu`; x [m, k], w [n, k], b [n].
inline Array linear(const Array& x, const Array& w, const Array& b, bool relu) {
  Array turned = zeros({w.shape[1], w.shape[0]});
  for (std::int64_t i = 0; i < w.shape[0]; ++i)
    for (std::int64_t j = 0; j < w.shape[1]; ++j) turned[j * w.shape[0] + i] = w[i * w.shape[1] + j];
  Array y = matmul(x, turned);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y[i] += b[i % b.size()];
    if (relu && y[i] <= 0) y[i] = 0;
  }
  return y;
}

}  // namespace assay::reference
