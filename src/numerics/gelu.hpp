// Gaussian error linear unit and its gradient (N5).
#pragma once

#include "numerics/erf.hpp"
#include "numerics/exp.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// With s = 1 + erf(x·0x1.6a09e6p-1): the value (0.5·x)·s, and 0.5·s, the chance of less than x, for the gradient.
struct Gelu {
  float value, below;
};
ASSAY_INLINE Gelu gelu(float x) {
  const float s = 1.0f + erf(x * 0x1.6a09e6p-1f);
  return {(0.5f * x) * s, 0.5f * s};
}

/// g·(below + x·(0x1.988454p-2·exp(−0.5·(x·x)))).
ASSAY_INLINE float gelu_gradient(float x, float below, float g) {
  const float density = 0x1.988454p-2f * exp(-0.5f * (x * x));
  return g * (below + x * density);
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
