// Maximum over the last axis of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// The first index, from `begin`, of the largest of `length` elements: a NaN before any number, +0 before −0.
inline std::int64_t argmax(const Array& x, std::int64_t begin, std::int64_t length) {
  for (std::int64_t i = 0; i < length; ++i)
    if (x[begin + i] != x[begin + i]) return i;
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < length; ++i) {
    double a = x[begin + i], b = x[begin + best];
    if (a > b || (a == 0 && b == 0 && 1 / a > 1 / b)) best = i;
  }
  return best;
}

/// The largest element of each row.
inline Array maximum(const Array& x) {
  Array y = zeros({x.shape.begin(), x.shape.end() - 1});
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    std::int64_t begin = row * row_length(x);
    y[row] = x[begin + argmax(x, begin, row_length(x))];
  }
  return y;
}

/// upstream at the first largest element of each row, else 0.
inline Array maximum_gradient(const Array& x, const Array& upstream) {
  Array gradient = zeros(x.shape);
  for (std::int64_t row = 0; row < row_count(x); ++row) {
    std::int64_t begin = row * row_length(x);
    gradient[begin + argmax(x, begin, row_length(x))] = upstream[row];
  }
  return gradient;
}

}  // namespace assay::reference
