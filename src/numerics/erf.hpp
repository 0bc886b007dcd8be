// Error function in binary32, correctly rounded (N4).
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

/// erf x, correctly rounded for every binary32 x. erf(±0) = ±0, erf(±∞) = ±1, NaN gives NaN.
///
/// a = |x|: below 0.5 a·Q(a²) with Q fitted to erf(a)/a (10 terms, 2⁻⁶⁵); else 1 − e^(−a²)·P((a − 3)/(a + 3)) with P
/// fitted to e^(a²)·erfc(a) on [0, 4] (18 terms, 2⁻⁵⁷·⁵). The coefficients are printed by coefficients.py.
///
///     erf(0.5f);  // 0x1.0a7ef6p-1
ASSAY_INLINE float erf(float x) {
  ASSAY_OR_LIBM(__builtin_erff(x))
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const double a = limited(std::bit_cast<float>(bits & 0x7fffffffu), 4.0f);  // the result is 1 from 3.92 on
  const double z = a * a;
  const double series =
      polynomial_in_halves(z, z * z, -0x1.39fb524e9c1f7p-23, 0x1.b776442df3041p-20, -0x1.f4bb9f7301dedp-17,
                           0x1.f9a2a6635fe79p-14, -0x1.c02db23d41138p-11, 0x1.565bcd0aa6349p-8, -0x1.b82ce3127f739p-6,
                           0x1.ce2f21a042b29p-4, -0x1.812746b0379e6p-2, 0x1.20dd750429b6dp+0);
  const double u = (a - 3.0) / (a + 3.0);
  const double scaled_complement = polynomial_in_halves(
      u, u * u, -0x1.65337e84edba4p-26, -0x1.5113c52b9d2b4p-24, 0x1.30a46f1285eb0p-22, 0x1.241758515ab1fp-19,
      0x1.95d03a56ee889p-19, -0x1.f08e17186f8a8p-18, -0x1.a77b23dc962d1p-17, 0x1.0ce97a1abd19cp-14,
      0x1.7ba88e8ff821ep-15, -0x1.39088f4c4e191p-11, 0x1.73100d777518cp-11, 0x1.17c838e0b8566p-8, -0x1.8fa58eb3712dcp-6,
      0x1.258b13b02453fp-4, -0x1.336ffbef092a3p-3, 0x1.f6ff2041058c4p-3, -0x1.4e102b9cf8511p-2, 0x1.6e9827d229d2dp-3);
  const double large = 1.0 - Exponential(-z).value() * scaled_complement;
  const float magnitude = static_cast<float>(select(a < 0.5, a * series, large));
  const float result = std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x80000000u));
  return x == x ? result : x;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
