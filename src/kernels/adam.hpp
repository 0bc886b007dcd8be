// One update by Adam or AdamW.
#pragma once

#include <cstdint>

#include "kernels/dispatch.hpp"
#include "numerics/scalar.hpp"
#include "reference/adam.hpp"

namespace assay::kernels {

/// What one update depends on besides the tensors; `step` counts from 1.
struct AdamStep {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  bool decoupled;
  std::uint64_t step;
};

/// The same as the kernel reads it: computed in binary64, each rounded once.
struct AdamScalars {
  float beta1, rest1, beta2, rest2;  // rest = 1 − β
  float rate, scale, epsilon;        // rate = η ÷ (1 − β1ᵗ), scale = 1 ÷ √(1 − β2ᵗ)
  float keep, decay;                 // what AdamW multiplies the weight by; what Adam adds of it to the gradient
};

inline AdamScalars rounded(const AdamStep& s) {
  double rate = s.learning_rate / (1 - numerics::power(s.beta1, s.step));
  double scale = 1 / numerics::square_root(1 - numerics::power(s.beta2, s.step));
  double keep = s.decoupled ? 1 - s.learning_rate * s.weight_decay : 1;
  double decay = s.decoupled ? 0 : s.weight_decay;
  auto once = [](double value) { return static_cast<float>(value); };
  return {once(s.beta1), once(1 - s.beta1), once(s.beta2), once(1 - s.beta2), once(rate),
          once(scale),   once(s.epsilon),   once(keep),    once(decay)};
}

ASSAY_CPU_KERNEL(bool adam_is_finite(View<const float> w, View<const float> m, View<const float> v, View<const float> g,
                                     AdamScalars scalars))
ASSAY_CPU_KERNEL(void adam(View<float> w, View<float> m, View<float> v, View<const float> g, AdamScalars scalars))

inline reference::AdamArrays oracle_adam(const Tensor& w, const Tensor& m, const Tensor& v, const Tensor& g,
                                         const AdamStep& s) {
  return reference::adam({oracle_operand(w), oracle_operand(m), oracle_operand(v)}, oracle_operand(g), s.learning_rate,
                         s.beta1, s.beta2, s.epsilon, s.weight_decay, s.decoupled, s.step);
}

/// Whether every element that `adam` would write is finite. Nothing is written.
inline bool adam_is_finite(const Tensor& w, const Tensor& m, const Tensor& v, const Tensor& g, const AdamStep& step) {
  if (w.device() == reference_device) return reference::finite(oracle_adam(w, m, v, g, step));
  return launch(w.device(), ASSAY_CPU(adam_is_finite), w, m, v, g, rounded(step));
}

/// Updates w, m and v in place; all four have one shape and device. The formula stands in optim/adam.hpp.
inline void adam(Tensor w, Tensor m, Tensor v, const Tensor& g, const AdamStep& step) {
  if (w.device() == reference_device) {
    reference::AdamArrays next = oracle_adam(w, m, v, g, step);
    w.write(next.w.values);
    m.write(next.m.values);
    v.write(next.v.values);
  } else {
    launch(w.device(), ASSAY_CPU(adam), Out{w}, Out{m}, Out{v}, g, rounded(step));
  }
}

}  // namespace assay::kernels
