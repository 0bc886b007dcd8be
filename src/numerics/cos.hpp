// Cosine and sine in binary32, correctly rounded (N4); scalar.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"
#include "numerics/pair.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

namespace cos_detail {

// Taylor series on |y| ≤ π/4: the first terms in pairs, the rest in binary64; together within 2⁻⁶⁰ of the result.
ASSAY_INLINE Pair cos_of_reduced(Pair y) {
  const Pair z = y * y;
  const double rest = polynomial(z.high, -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0,
                                 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0);
  return z * (Pair{-0.5, 0} + z.high * rest) + 1.0;
}

ASSAY_INLINE Pair sin_of_reduced(Pair y) {
  const Pair z = y * y;
  const double rest = polynomial(z.high, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0,
                                 -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0);
  const Pair minus_sixth = {-0x1.5555555555555p-3, -0x1.5555555555555p-57};
  return y * (z * (minus_sixth + z.high * rest) + 1.0);
}

struct Reduced {
  Pair y;             // |x| − quadrant·π/2 (mod 2π), in [−π/4, π/4]
  unsigned quadrant;  // mod 4
};

/// Payne and Hanek's reduction, exact in integers to 2⁻¹⁰² of a quadrant; for finite |x|.
inline Reduced reduce(float magnitude) {
  if (magnitude < 0x1.921fb4p-1f) return {{magnitude, 0}, 0};
  // 2/π behind one zero word: bit i of the table, counted from the most significant one, weighs 2^(31 − i).
  constexpr std::uint32_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                           0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint64_t integer = (bits & 0x7fffffu) | 0x800000u;  // magnitude = integer·2^power
  const int power = static_cast<int>(bits >> 23) - 150;
  // Bits of 2/π that weigh 4 or more after the multiplication by 2^power drop out; the next 128 are taken.
  const unsigned start = static_cast<unsigned>(power + 30);
  std::uint32_t product[4];  // frac(integer·2^power·(2/π)/4), most significant word first
  std::uint64_t carry = 0;
  for (unsigned j = 4; j-- > 0;) {
    const std::uint32_t* word = two_over_pi + start / 32 + j;
    const std::uint64_t two_words = static_cast<std::uint64_t>(word[0]) << 32 | word[1];
    carry += integer * ((two_words << start % 32) >> 32);
    product[j] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  unsigned quadrant = product[0] >> 30;
  std::uint64_t high = (static_cast<std::uint64_t>(product[0]) << 32 | product[1]) << 2 | product[2] >> 30;
  std::uint64_t low = (static_cast<std::uint64_t>(product[2]) << 32 | product[3]) << 2;
  const bool negative = high >> 63;  // above one half: count from the next quadrant down
  if (negative) {
    quadrant += 1;
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  // Each half of `high` is a binary64 without rounding.
  Pair fraction =
      exact_sum(static_cast<double>(high >> 32) * 0x1p-32, static_cast<double>(high & 0xffffffffu) * 0x1p-64);
  fraction = fraction + static_cast<double>(low >> 11) * 0x1p-117;
  const double half_pi = negative ? -0x1.921fb54442d18p+0 : 0x1.921fb54442d18p+0;
  const double half_pi_low = negative ? -0x1.1a62633145c07p-54 : 0x1.1a62633145c07p-54;
  return {fraction * Pair{half_pi, half_pi_low}, quadrant % 4};
}

/// sin(magnitude + shift·π/2), rounded once.
inline float sin_shifted(float magnitude, unsigned shift) {
  if (!(magnitude < std::numeric_limits<float>::infinity())) return std::numeric_limits<float>::quiet_NaN();
  const Reduced reduced = reduce(magnitude);
  const unsigned quadrant = reduced.quadrant + shift;
  const Pair value = quadrant % 2 == 0 ? sin_of_reduced(reduced.y) : cos_of_reduced(reduced.y);
  const float rounded = static_cast<float>(round_to_odd(value.high, value.low));
  return quadrant % 4 < 2 ? rounded : -rounded;
}

}  // namespace cos_detail

/// cos x, correctly rounded for every binary32 x. cos(±0) = 1, cos(±∞) = NaN, NaN gives NaN.
/// Source: M. Payne, R. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18 (1983).
///
///     cos(3.0f);  // -0x1.fae04cp-1
ASSAY_INLINE float cos(float x) {
  return cos_detail::sin_shifted(std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffu), 1);
}

/// sin x, correctly rounded for every binary32 x. sin(±0) = ±0, sin(±∞) = NaN, NaN gives NaN.
///
///     sin(3.0f);  // 0x1.210386p-3
ASSAY_INLINE float sin(float x) {
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) & 0x80000000u;
  const float magnitude = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ sign);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(cos_detail::sin_shifted(magnitude, 0)) ^ sign);
}

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
