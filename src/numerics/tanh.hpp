// Hyperbolic tangent in binary32, correctly rounded (N4).
#pragma once

#ifdef ASSAY_FAST
#include "numerics/libm.hpp"
#else

#include <bit>
#include <cstdint>

#include "numerics/arithmetic.hpp"
#include "numerics/exp.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// tanh x, correctly rounded for every binary32 x. tanh(±0) = ±0, tanh(±∞) = ±1, NaN gives NaN.
///
/// a = |x|: below 0.625 a + a·z·P(z), z = a², with P fitted to (tanh(a)/a − 1)/z (13 terms, 2⁻⁶⁴); else
/// 1 − 2/(e²ᵃ + 1). The coefficients are printed by coefficients.py.
///
///     tanh(1.0f);  // 0x1.85efacp-1
ASSAY_INLINE float tanh(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const double a = std::bit_cast<float>(bits & 0x7fffffffu);
  const double z = a * a;
  const double p = polynomial(z, -0x1.47559de55bc91p-19, 0x1.99b26df70cccdp-17, -0x1.370efd62e9535p-15,
                              0x1.92d3563b405ccp-14, -0x1.f4fccb8116f0ap-13, 0x1.355204d5878bep-11,
                              -0x1.7da2fd76a3cf1p-10, 0x1.d6d3cc561e69ap-9, -0x1.226e354ddfe9ap-7, 0x1.664f488279254p-6,
                              -0x1.ba1ba1ba1aff0p-5, 0x1.111111111110dp-3, -0x1.5555555555555p-2);
  const double small = a + a * (z * p);
  const double clamped = a > 20.0 ? 20.0 : a;  // the result is 1 from 9.01 on; a NaN passes
  const double large = 1.0 - 2.0 / (exp_binary64(2.0 * clamped) + 1.0);
  const float magnitude = static_cast<float>(a < 0.625 ? small : large);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x80000000u));
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
