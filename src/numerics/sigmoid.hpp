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
/// Near 0 (|x| ≤ 0.3466, where e⁻ˣ = 1 + rest) the value may lie closer to a midpoint of binary32 than binary64 can
/// tell. There it is ½ + q, q = −½·rest / (1 + e⁻ˣ), and q itself is rounded to a multiple of the result's last place,
/// 2⁻²⁴ from ½ on and 2⁻²⁵ below, by adding and subtracting a number that has this last place.
///
///     sigmoid(1.0f);  // 0x1.764d5p-1
ASSAY_INLINE float sigmoid(float x) {
  ASSAY_OR_LIBM(1.0f / (1.0f + __builtin_expf(-x)))
  // Beyond ±104 the result is 1 or +0 all the same.
  const Exponential power(-static_cast<double>(limited(x, 104.0f)));
  const bool near = power.k == 0.0;
  const double quotient = select(near, -0.5 * power.rest, 1.0) / (1.0 + power.value());
  const std::uint64_t below_half = std::bit_cast<std::uint64_t>(quotient) >> 63;
  const double place = std::bit_cast<double>(std::bit_cast<std::uint64_t>(0x1.8p28) - (below_half << 52));
  const double centred = 0.5 + ((quotient + place) - place);
  const float result = static_cast<float>(select(near, centred, quotient));
  return x == x ? result : x;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
