// Logistic sigmoid in binary32, correctly rounded (N4).
#pragma once

#ifdef ASSAY_FAST
#include "numerics/libm.hpp"
#else

#include "numerics/arithmetic.hpp"
#include "numerics/exp.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// 1 / (1 + e⁻ˣ), correctly rounded for every binary32 x, subnormal results included. sigmoid(−∞) = +0,
/// sigmoid(+∞) = 1, NaN gives NaN.
///
/// Near 0 the value 1/2 + x/4 − x³/48 + x⁵/480 − 17·x⁷/80640 lies closer to a midpoint of binary32 than binary64 can
/// tell, so there (|x| < 2⁻⁷, next term below 2⁻⁷⁸) the series is rounded to odd first.
///
///     sigmoid(1.0f);  // 0x1.764d5p-1
ASSAY_INLINE float sigmoid(float x) {
  double clamped = x;
  clamped = clamped > 100.0 ? 100.0 : clamped;  // the result is 1 from 17.4 on and +0 below −103.98; a NaN passes
  clamped = clamped < -150.0 ? -150.0 : clamped;
  const double far = 1.0 / (1.0 + exp_binary64(-clamped));

  const double quarter = 0.25 * clamped;
  const double z = clamped * clamped;
  const double high = 0.5 + quarter;
  const double low = (quarter - (high - 0.5)) + quarter * z * polynomial(z, -17.0 / 20160.0, 1.0 / 120.0, -1.0 / 12.0);
  const double sum = high + low;
  const double near = round_to_odd(sum, low - (sum - high));
  return static_cast<float>(z < 0x1p-14 ? near : far);
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
