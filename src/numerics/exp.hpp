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

/// eˣ = 2ᵏ·(1 + rest) in binary64 with a relative error below 2⁻⁵¹·⁵, for |x| ≤ 700.
///
/// x = k·ln 2 + r with |r| ≤ 0.3466; rest = r + r²·P(r) with P fitted to (eʳ − 1 − r)/r² (10 terms, 2⁻⁵⁶ of eʳ, printed
/// by coefficients.py).
struct Exponential {
  double k, rest;
  std::uint64_t k_bits;  // k in its low bits

  ASSAY_INLINE explicit Exponential(double x) {
    const double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p52;  // the low bits of its pattern hold k
    k = shifted - 0x1.8p52;
    k_bits = std::bit_cast<std::uint64_t>(shifted);
    double r = x - k * 0x1.62e42fefa0000p-1;  // this part of ln 2 has 36 bits, so the product is exact
    r = r - k * 0x1.cf79abc9e3b39p-40;
    const double z = r * r;
    rest = r + z * polynomial_in_halves(r, z, 0x1.af38a9b0ec855p-26, 0x1.289185613a3d6p-22, 0x1.71de0dae63bb3p-19,
                                        0x1.a019b90d2ae7ap-16, 0x1.a01a01a7c41d5p-13, 0x1.6c16c1788bd90p-10,
                                        0x1.11111111109b3p-7, 0x1.5555555553d63p-5, 0x1.5555555555556p-3,
                                        0x1.0000000000001p-1);
  }
  ASSAY_INLINE double value() const {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0 + rest) + (k_bits << 52));
  }
};

/// eˣ, correctly rounded for every binary32 x. exp(±0) = 1, exp(−∞) = +0, exp(+∞) = +∞, NaN gives NaN.
///
///     exp(1.0f);  // 0x1.5bf0a8p+1
ASSAY_INLINE float exp(float x) {
  ASSAY_OR_LIBM(__builtin_expf(x))
  // Beyond ±104 the result is +∞ or +0 all the same.
  const float result = static_cast<float>(Exponential(limited(x, 104.0f)).value());
  return x == x ? result : x;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics

#endif
