// Gaussian error linear unit and its gradient (N5).
#pragma once

#include "numerics/erf.hpp"
#include "numerics/exp.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// (0.5·x)·(1 + erf(x·0x1.6a09e6p-1)).
ASSAY_INLINE float gelu(float x) { return (0.5f * x) * (1.0f + erf(x * 0x1.6a09e6p-1f)); }

/// g·(0.5·(1 + erf(x·0x1.6a09e6p-1)) + x·(0x1.988454p-2·exp(−0.5·(x·x)))).
ASSAY_INLINE float gelu_gradient(float x, float g) {
  const float below = 0.5f * (1.0f + erf(x * 0x1.6a09e6p-1f));
  const float density = 0x1.988454p-2f * exp(-0.5f * (x * x));
  return g * (below + x * density);
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
