// Logarithm of softmax over the last axis of the oracle.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// x − log Σ eˣ over the row, shifted by the maximum so that nothing overflows.
inline Array log_softmax(const Array& x) {
  Array y = zeros(x.shape);
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    std::int64_t begin = row * row_length(x), end = begin + row_length(x);
    double most = *std::max_element(x.values.begin() + begin, x.values.begin() + end), sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += std::exp(x[i] - most);
    for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] - (most + std::log(sum));
  }
  return y;
}

/// Σⱼ gⱼ·([i = j] − eʸⁱ), g the upstream gradient.
inline Array log_softmax_gradient(const Array& y, const Array& upstream) {
  Array gradient = zeros(y.shape);
  for (std::int64_t row = 0; row < row_count(y); ++row) {
    std::int64_t begin = row * row_length(y), end = begin + row_length(y);
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = begin; j < end; ++j) gradient[i] += upstream[j] * ((i == j) - std::exp(y[i]));
  }
  return gradient;
}

}  // namespace assay::reference
