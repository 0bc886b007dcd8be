// Layer normalisation over the last axis of the oracle.
#pragma once

#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// The mean of each row, then 1/√(variance + ε) of each row: [2, rows].
inline Array layer_norm_statistics(const Array& x, double epsilon) {
  const std::int64_t rows = row_count(x), length = row_length(x);
  Array statistics = zeros({2, rows});
  for (std::int64_t row = 0; row < rows; ++row) {
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < length; ++i) mean += x[row * length + i] / static_cast<double>(length);
    for (std::int64_t i = 0; i < length; ++i)
      variance += std::pow(x[row * length + i] - mean, 2) / static_cast<double>(length);
    statistics[row] = mean;
    statistics[rows + row] = 1 / std::sqrt(variance + epsilon);
  }
  return statistics;
}

/// x less its row's mean, in units of its row's deviation.
inline Array normalised(const Array& x, const Array& statistics) {
  Array n = zeros(x.shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t row = i / row_length(x);
    n[i] = (x[i] - statistics[row]) * statistics[row_count(x) + row];
  }
  return n;
}

/// n·scale + bias.
inline Array layer_norm(const Array& x, const Array& statistics, const Array& scale, const Array& bias) {
  Array y = normalised(x, statistics);
  for (std::int64_t i = 0; i < y.size(); ++i) y[i] = y[i] * scale[i % row_length(y)] + bias[i % row_length(y)];
  return y;
}

/// Σⱼ uⱼ·scaleⱼ·∂nⱼ/∂xᵢ with ∂nⱼ/∂xᵢ = r·([i = j] − (1 + nᵢ·nⱼ)/D), u the upstream gradient.
inline Array layer_norm_gradient(const Array& x, const Array& statistics, const Array& scale, const Array& upstream) {
  const std::int64_t length = row_length(x);
  const Array n = normalised(x, statistics);
  Array gradient = zeros(x.shape);
  for (std::int64_t row = 0; row < row_count(x); ++row)
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i)
      for (std::int64_t j = row * length; j < (row + 1) * length; ++j)
        gradient[i] += upstream[j] * scale[j % length] * statistics[row_count(x) + row] *
                       ((i == j) - (1 + n[i] * n[j]) / static_cast<double>(length));
  return gradient;
}

/// The sum of upstream·n over the rows: [D].
inline Array layer_norm_scale_gradient(const Array& x, const Array& statistics, const Array& upstream) {
  const Array n = normalised(x, statistics);
  Array gradient = zeros({row_length(x)});
  for (std::int64_t i = 0; i < x.size(); ++i) gradient[i % row_length(x)] += upstream[i] * n[i];
  return gradient;
}

}  // namespace assay::reference
