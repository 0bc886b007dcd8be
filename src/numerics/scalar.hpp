// Host scalars in binary64 for schedules and bias corrections, without libm (N4).
#pragma once

#include <cstdint>

#include "numerics/cos.hpp"
#include "numerics/isa.hpp"
#include "numerics/pair.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// baseⁿ by repeated squaring, the bits of the exponent taken from the lowest; every product rounded. power(b, 0) = 1.
///
///     power(0.9, 3);  // (0.9·1)·(0.9·0.9)
ASSAY_INLINE double power(double base, std::uint64_t exponent) {
  double result = 1.0;
  for (double square = base; exponent != 0; exponent >>= 1, square = square * square)
    if (exponent & 1) result = result * square;
  return result;
}

/// √x, rounded once (IEEE 754); x < 0 gives NaN.
ASSAY_INLINE double square_root(double x) { return __builtin_sqrt(x); }

/// cos x in binary64 for |x| ≤ 2²⁰, within one unit in the last place; the same bits everywhere.
///
/// y = x − k·π/2 with π/2 in three parts, the first two of 33 bits so that their products with k are exact.
///
///     cosine(0x1.921fb54442d18p+0);  // 0x1.1a62633145c07p-54
inline double cosine(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  const double k = shifted - 0x1.8p52;
  const Pair reduced = (exact_sum(x - k * 0x1.921fb544p+0, -k * 0x1.0b4611a6p-34)) + -k * 0x1.3198a2e037073p-69;
  const unsigned quadrant = static_cast<unsigned>(static_cast<std::int64_t>(k)) % 4;
  const Pair value = quadrant % 2 == 0 ? cos_detail::cos_of_reduced(reduced) : cos_detail::sin_of_reduced(reduced);
  return quadrant == 1 || quadrant == 2 ? -value.high : value.high;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
