// Natural logarithm in binary32, correctly rounded (N4).
#pragma once

#ifdef ASSAY_FAST
#include "numerics/libm.hpp"
#else

#include <bit>
#include <cstdint>
#include <limits>

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// log x, correctly rounded for every binary32 x. log(±0) = −∞, log(x < 0) = NaN, log(+∞) = +∞, NaN gives NaN.
///
/// x = 2ᵏ·m with √½ ≤ m < √2, s = (m − 1) / (m + 1): log x = k·ln 2 + 2s + s³·(2/3 + 2/5·s² + …), |s| ≤ 0.1716,
/// truncated at 2⁻⁶⁵ of the result. binary64 rounded to binary32 would be wrong at five inputs, so the leading parts
/// k·ln 2 and 2s are carried in two pieces (error below 2⁻⁵⁹ of the result) and rounded to odd before the last step.
///
///     log(10.0f);  // 0x1.26bb1cp+1
ASSAY_INLINE float log(float x) {
  const double wide = x;  // a subnormal becomes a normal number here
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(wide);
  const std::uint64_t exponent = (bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52;  // 1023 + k
  const double k = std::bit_cast<double>(0x4330000000000000u | exponent) - (0x1p52 + 1023.0);
  const double m = std::bit_cast<double>(bits - ((exponent - 1023) << 52));

  const double f = m - 1.0;
  const double g = m + 1.0;
  const double s_high = static_cast<double>(static_cast<float>(f / g));
  const double s_low = (f - s_high * g) / g;  // s_high·g has 49 bits: the numerator is exact
  const double s = s_high + s_low;
  const double w = s * s;
  const double p = polynomial(w, 2.0 / 25.0, 2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0, 2.0 / 13.0,
                              2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0);

  const double a = k * 0x1.62e42fefa2000p-1;  // this part of ln 2 has 40 bits: exact
  const double b = 2.0 * s_high;
  const double high = a + b;
  const double lost = b - (high - a);  // exact: |a| > |b| or a = 0
  const double low = lost + (k * 0x1.9ef35793c7673p-41 + (2.0 * s_low + s * w * p));
  const double sum = high + low;
  const float result = static_cast<float>(round_to_odd(sum, low - (sum - high)));

  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  return x > 0 ? (x < infinity ? result : infinity) : (x == 0 ? -infinity : nan);
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
