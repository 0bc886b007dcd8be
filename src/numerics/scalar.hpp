// Powers of host scalars in binary64, without libm (N4).
#pragma once

#include <cstdint>

#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// baseⁿ by repeated squaring, the bits of the exponent taken from the lowest; every product rounded. power(b, 0) = 1.
///
///     power(0.9, 3);  // (0.9·1)·(0.9·0.9)
ASSAY_INLINE double power(double base, std::uint64_t exponent) {
  double result = 1.0;
  for (double square = base; exponent != 0; exponent >>= 1, square = square * square)
    if (exponent & 1) result = result * square;
  return result;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
