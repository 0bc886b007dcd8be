// Reciprocal square root in binary32, correctly rounded (N4).
#pragma once

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// 1/√x, correctly rounded for every binary32 x. rsqrt(±0) = ±∞, rsqrt(x < 0) = NaN, rsqrt(+∞) = +0, NaN gives NaN.
///
/// Square root and quotient in binary64 are off by less than 1.5·2⁻⁵³ of the result; no x brings 1/√x that close to a
/// midpoint of binary32 (all 2²⁴ pairs of a mantissa and the parity of its exponent were tried).
///
///     rsqrt(2.0f);  // 0x1.6a09e6p-1
ASSAY_INLINE float rsqrt(float x) { return static_cast<float>(1.0 / square_root(static_cast<double>(x))); }

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
