// One element's step by stochastic gradient descent.
#pragma once

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {

/// What is the same for all elements of a step, each rounded once.
struct SgdScalars {
  float rate, momentum, decay;
  bool nesterov;
};

inline namespace ASSAY_ISA {

struct SgdElement {
  float w, u;
};

/// The weight and its velocity after the step.
ASSAY_INLINE SgdElement sgd(float w, float u, float g, const SgdScalars& s) {
  g = s.decay == 0 ? g : fma(s.decay, w, g);
  u = fma(s.momentum, u, g);
  const float direction = s.nesterov ? fma(s.momentum, u, g) : u;
  return {w - s.rate * direction, u};
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
