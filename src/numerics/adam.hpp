// One element's step by Adam or AdamW (N5).
#pragma once

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {

/// What is the same for all elements of a step; each computed in binary64 and rounded once.
struct AdamScalars {
  float beta1, rest1, beta2, rest2;  // rest = 1 − β
  float rate, scale, epsilon;        // rate = η ÷ (1 − β1ᵗ), scale = 1 ÷ √(1 − β2ᵗ)
  float keep, decay;                 // what AdamW multiplies the weight by; what Adam adds of it to the gradient
};

inline namespace ASSAY_ISA {

struct AdamElement {
  float w, m, v;
};

/// The weight and its moments after the step.
ASSAY_INLINE AdamElement adam(float w, float m, float v, float g, const AdamScalars& s) {
  g = s.decay == 0 ? g : fma(s.decay, w, g);
  m = fma(s.beta1, m, s.rest1 * g);
  v = fma(s.beta2, v, s.rest2 * g * g);
  w = w * s.keep - s.rate * (m / fma(square_root(v), s.scale, s.epsilon));
  return {w, m, v};
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
