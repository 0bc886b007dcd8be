// exp in binary32, correctly rounded, and the binary64 exp behind it (N4).
#pragma once

#ifdef ASSAY_FAST
#include "numerics/libm.hpp"
#else

#include <bit>
#include <cstdint>

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// eˣ in binary64 with a relative error below 2⁻⁵¹·⁵, for |x| ≤ 700; NaN gives NaN.
///
/// x = k·ln 2 + r with |r| ≤ 0.3466; eʳ is its Taylor polynomial of degree 13 (truncation 2⁻⁵⁷·⁷); k goes into the
/// exponent.
ASSAY_INLINE double exp_binary64(double x) {
  const double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52;  // the low bits of its pattern hold k
  const double k = shifted - 0x1.8p52;
  double r = x - k * 0x1.62e42fefa0000p-1;  // this part of ln 2 has 36 bits, so the product is exact
  r = r - k * 0x1.cf79abc9e3b39p-40;
  const double p =
      polynomial(r, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52));
}

/// eˣ, correctly rounded for every binary32 x. exp(±0) = 1, exp(−∞) = +0, exp(+∞) = +∞, NaN gives NaN.
///
///     exp(1.0f);  // 0x1.5bf0a8p+1
ASSAY_INLINE float exp(float x) {
  double clamped = x;  // beyond these bounds the result is +∞ or +0 all the same; a NaN passes both comparisons
  clamped = clamped > 100.0 ? 100.0 : clamped;
  clamped = clamped < -150.0 ? -150.0 : clamped;
  return static_cast<float>(exp_binary64(clamped));
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
