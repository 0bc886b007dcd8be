// Affine map of the oracle whose matrix is stored as NF4.
#pragma once

#include "reference/linear.hpp"

namespace assay::reference {

/// The matrix [rows, columns] behind 4-bit codes, two a byte with the first in the low half. Each block of `block`
/// numbers has a scale: scales[b], or, with codes for the scales, scales[0] + scales[1 + b / 256]·(code − 128)/127,
/// at least 0.
inline Array nf4_matrix(const Array& codes, const Array& scale_codes, const Array& scales, std::int64_t block,
                        std::int64_t rows, std::int64_t columns) {
  static const double table[] = {-1.0,
                                 -0.6961928009986877,
                                 -0.5250730514526367,
                                 -0.39491748809814453,
                                 -0.28444138169288635,
                                 -0.18477343022823334,
                                 -0.09105003625154495,
                                 0.0,
                                 0.07958029955625534,
                                 0.16093020141124725,
                                 0.24611230194568634,
                                 0.33791524171829224,
                                 0.44070982933044434,
                                 0.5626170039176941,
                                 0.7229568362236023,
                                 1.0};
  Array matrix = zeros({rows, columns});
  for (std::int64_t i = 0; i < matrix.size(); ++i) {
    const std::int64_t pair = static_cast<std::int64_t>(codes[i / 2]), b = i / block;
    double scale = 0;
    if (scale_codes.size() == 0)
      scale = scales[b];
    else
      scale = scales[0] + scales[1 + b / 256] * (scale_codes[b] - 128) / 127;
    matrix[i] = table[i % 2 == 0 ? pair % 16 : pair / 16] * (scale > 0 ? scale : 0);
  }
  return matrix;
}

/// y = x·wᵀ + b of that matrix, as `linear`.
inline Array nf4_linear(const Array& x, const Array& codes, const Array& scale_codes, const Array& scales,
                        std::int64_t block, const Array& b) {
  return linear(x, nf4_matrix(codes, scale_codes, scales, block, b.size(), x.shape[1]), b, false);
}

/// The gradient by x, which has `columns` columns.
inline Array nf4_linear_gradient(const Array& upstream, const Array& codes, const Array& scale_codes,
                                 const Array& scales, std::int64_t block, std::int64_t columns) {
  return matmul(upstream, nf4_matrix(codes, scale_codes, scales, block, upstream.shape[1], columns));
}

}  // namespace assay::reference
