// One update by stochastic gradient descent.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/sgd.hpp"

namespace assay::kernels {

/// What one update depends on besides the tensors.
struct SgdStep {
  double learning_rate, momentum, weight_decay;
  bool nesterov;
};

/// The same as the kernel reads it, each rounded once.
struct SgdScalars {
  float rate, momentum, decay;
  bool nesterov;
};

inline SgdScalars rounded(const SgdStep& s) {
  return {static_cast<float>(s.learning_rate), static_cast<float>(s.momentum), static_cast<float>(s.weight_decay),
          s.nesterov};
}

ASSAY_CPU_KERNEL(bool sgd_is_finite(View<const float> w, View<const float> u, View<const float> g, SgdScalars scalars))
ASSAY_CPU_KERNEL(void sgd(View<float> w, View<float> u, View<const float> g, SgdScalars scalars))

inline reference::SgdArrays oracle_sgd(const Tensor& w, const Tensor& u, const Tensor& g, const SgdStep& s) {
  return reference::sgd({oracle_operand(w), oracle_operand(u)}, oracle_operand(g), s.learning_rate, s.momentum,
                        s.weight_decay, s.nesterov);
}

/// Whether every element that `sgd` would write is finite. Nothing is written.
inline bool sgd_is_finite(const Tensor& w, const Tensor& u, const Tensor& g, const SgdStep& step) {
  if (w.device() == reference_device) return reference::finite(oracle_sgd(w, u, g, step));
  return launch(w.device(), ASSAY_CPU(sgd_is_finite), w, u, g, rounded(step));
}

/// Updates w and its velocity u in place; all three have one shape and device. The formula stands in optim/sgd.hpp.
inline void sgd(Tensor w, Tensor u, const Tensor& g, const SgdStep& step) {
  if (w.device() == reference_device) {
    reference::SgdArrays next = oracle_sgd(w, u, g, step);
    w.write(next.w.values);
    u.write(next.u.values);
  } else {
    launch(w.device(), ASSAY_CPU(sgd), Out{w}, Out{u}, g, rounded(step));
  }
}

}  // namespace assay::kernels
