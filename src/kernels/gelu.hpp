// Gaussian error linear unit.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/gelu.hpp"

namespace assay::kernels {

ASSAY_DECLARE_FAST_KERNEL(void gelu(View<const float> x, View<float> below, View<float> y))
ASSAY_DECLARE_FAST_KERNEL(void gelu_gradient(View<const float> x, View<const float> below, View<const float> upstream,
                                             View<float> gradient))

/// y, and what the gradient needs: 0.5·(1 + erf(x·0x1.6a09e6p-1)), the chance that a normal number is below x.
struct Gelu {
  Tensor y, below;
};

/// (0.5·x)·(1 + erf(x·0x1.6a09e6p-1)).
inline Gelu gelu(const Tensor& x) {
  const Gelu result{Tensor::uninitialised(x.shape(), x.device()), Tensor::uninitialised(x.shape(), x.device())};
  if (x.device() == reference_device) {
    device_log::launch(x.device(), "gelu");
    Tensor(result.below).write(reference::normal_below(oracle_operand(x)).values);
    Tensor(result.y).write(reference::gelu(oracle_operand(x)).values);
  } else {
    launch(x.device(), ASSAY_KERNEL(gelu), x, Out{result.below}, Out{result.y});
  }
  return result;
}

/// g·(below + x·(0x1.988454p-2·exp(−0.5·(x·x)))), g the upstream gradient.
inline Tensor gelu_gradient(const Tensor& x, const Tensor& below, const Tensor& upstream) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(gelu_gradient), reference::gelu_gradient, x,
             below, upstream);
}

}  // namespace assay::kernels
