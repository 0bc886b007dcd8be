// Natural logarithm in binary32, correctly rounded (N4).
#pragma once

#ifdef ASSAY_FAST
#include "numerics/libm.hpp"
#else

#include <bit>
#include <cstdint>
#include <limits>

#include "base/sabotage.hpp"
#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// log x, correctly rounded for every binary32 x. log(±0) = −∞, log(x < 0) = NaN, log(+∞) = +∞, NaN gives NaN.
///
/// x = 2ᵏ·m with √½ ≤ m < √2, s = (m − 1) / (m + 1): log x = k·ln 2 + 2s + s³·P(s²), P fitted to
/// (log((1 + s)/(1 − s))/s − 2)/s² for |s| ≤ 0.1716 (8 terms, 2⁻⁵⁸·⁷; printed by coefficients.py). binary64 rounded to
/// binary32 would be wrong at five inputs, so the leading parts k·ln 2 and 2s are carried in two pieces and their sum
/// is rounded to odd before the last step.
///
///     log(10.0f);  // 0x1.26bb1cp+1
ASSAY_INLINE float log(float x) {
  ASSAY_OR_LIBM(__builtin_logf(x))
  const double wide = x;  // a subnormal becomes a normal number here
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(wide);
  const std::uint64_t exponent = (bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52;  // 1023 + k
  const double k = std::bit_cast<double>(0x4330000000000000u | exponent) - (0x1p52 + 1023.0);
  const double m = std::bit_cast<double>(bits - ((exponent - 1023) << 52));

  const double f = m - 1.0;
  const double g = m + 1.0;
  const double reciprocal = 1.0 / g;
  const double s = f * reciprocal;
  const double s_high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(s) & 0xffffffffe0000000u);  // 24 bits of it
  const double s_low = (f - s_high * g) * reciprocal;  // s_high·g has 49 bits: the difference is exact
  const double w = s * s;
  const double p = polynomial_in_halves(w, w * w, 0x1.0c039c79fee49p-3, 0x1.0fbe95d2753b8p-3, 0x1.3b1c355abbb77p-3,
                                        0x1.745cf9048d092p-3, 0x1.c71c720159196p-3, 0x1.2492492476cccp-2,
                                        0x1.9999999999a38p-2, 0x1.5555555555555p-1);

  const double a = k * 0x1.62e42fefa2000p-1;  // this part of ln 2 has 40 bits: exact
  const double b = 2.0 * s_high;
  const double high = a + b;
  const double lost = b - (high - a);  // exact: |a| > |b| or a = 0
  const double low = lost + (k * 0x1.9ef35793c7673p-41 + (2.0 * s_low + s * w * p));
  const double sum = high + low;
  // To odd. No logarithm but 0 is a binary64 number, so something was lost each time; 0 becomes the smallest number.
  const std::uint64_t sum_bits = std::bit_cast<std::uint64_t>(sum);
  const std::uint64_t inwards = (sum_bits ^ std::bit_cast<std::uint64_t>(low - (sum - high))) >> 63;
  const float result =
      static_cast<float>(sabotaged("log_rounds_twice") ? sum : std::bit_cast<double>((sum_bits - inwards) | 1));

  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const float below = x == 0 ? -infinity : nan;
  const float finite = x > 0 ? result : below;
  return x < infinity ? finite : x;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
