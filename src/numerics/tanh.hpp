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
/// a = |x|: below 0.625 a + a·z·P(z), z = a², with P fitted to (tanh(a)/a − 1)/z (12 terms, 2⁻⁵⁷·⁸); else
/// 1 − 2/(e²ᵃ + 1). The coefficients are printed by coefficients.py.
///
///     tanh(1.0f);  // 0x1.85efacp-1
ASSAY_INLINE float tanh(float x) {
  ASSAY_OR_LIBM(__builtin_tanhf(x))
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const double a = limited(std::bit_cast<float>(bits & 0x7fffffffu), 20.0f);  // the result is 1 from 9.01 on
  const double z = a * a;
  const double p = polynomial_in_halves(z, z * z, 0x1.b33642a122cddp-18, -0x1.05bbdae896297p-15, 0x1.8445870f6fe41p-14,
                                        -0x1.f243823c8c981p-13, 0x1.3526e9ed54da1p-11, -0x1.7d9f6f23e8682p-10,
                                        0x1.d6d39ae3905e2p-9, -0x1.226e3473dce5cp-7, 0x1.664f487e0a749p-6,
                                        -0x1.ba1ba1ba0f126p-5, 0x1.11111111110a8p-3, -0x1.5555555555555p-2);
  const double small = a + a * (z * p);
  const double large = 1.0 - 2.0 / (Exponential(2.0 * a).value() + 1.0);
  const float magnitude = static_cast<float>(select(a < 0.625, small, large));
  const float result = std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x80000000u));
  return x == x ? result : x;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
