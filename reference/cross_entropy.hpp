// Cross entropy of the oracle.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/array.hpp"

namespace assay::reference {

/// Logarithm of Σ eˣ over one row.
inline double log_of_sum(const Array& logits, std::int64_t row) {
  auto begin = logits.values.begin() + row * row_length(logits), end = begin + row_length(logits);
  double most = *std::max_element(begin, end), sum = 0;
  for (auto x = begin; x != end; ++x) sum += std::exp(*x - most);
  return most + std::log(sum);
}

/// The wished probability of class c: (1 − smoothing)·[c = label] + smoothing/C.
inline double wished(const Array& logits, double label, std::int64_t c, double smoothing) {
  return (1 - smoothing) * (static_cast<double>(c) == label) + smoothing / static_cast<double>(row_length(logits));
}

/// −Σ q·log p of each row; 0 where the label is `ignored`.
inline Array cross_entropy(const Array& logits, const Array& labels, double smoothing, std::int32_t ignored) {
  Array rows = zeros(labels.shape);
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    if (labels[row] == ignored) continue;
    for (std::int64_t c = 0; c < row_length(logits); ++c) {
      double q = wished(logits, labels[row], c, smoothing);
      if (q != 0) rows[row] -= q * (logits[row * row_length(logits) + c] - log_of_sum(logits, row));
    }
  }
  return rows;
}

/// (p − q)·scale, scale one number; 0 in rows whose label is `ignored`.
inline Array cross_entropy_gradient(const Array& logits, const Array& labels, double smoothing, std::int32_t ignored,
                                    const Array& scale) {
  Array gradient = zeros(logits.shape);
  for (std::int64_t row = 0; row < labels.size(); ++row) {
    if (labels[row] == ignored) continue;
    for (std::int64_t c = 0; c < row_length(logits); ++c) {
      std::int64_t i = row * row_length(logits) + c;
      gradient[i] =
          (std::exp(logits[i] - log_of_sum(logits, row)) - wished(logits, labels[row], c, smoothing)) * scale[0];
    }
  }
  return gradient;
}

}  // namespace assay::reference
