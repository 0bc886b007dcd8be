// The norm of many tensors together, and the factor that shortens them to a limit (N5).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// The norm of all tensors together, from the sums of squares of `count` tensors (bits of binary64), added in their
/// order.
ASSAY_INLINE double norm_of(const std::uint64_t* squares, std::size_t count) {
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += std::bit_cast<double>(squares[i]);
  return square_root(total);
}

/// What tensors of these sums of squares are multiplied with: limit ÷ norm when the norm is strictly above the limit
/// and finite, else 1.
ASSAY_INLINE double norm_factor(const std::uint64_t* squares, std::size_t count, double limit) {
  const double norm = norm_of(squares, count);
  return norm > limit && norm - norm == 0 ? limit / norm : 1;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
