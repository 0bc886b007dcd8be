// Gaussian error linear unit.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/gelu.hpp"

namespace assay::kernels {

ASSAY_DECLARE_FAST_KERNEL(void gelu(View<const float> x, View<float> y))
ASSAY_DECLARE_FAST_KERNEL(void gelu_gradient(View<const float> x, View<const float> upstream, View<float> gradient))

/// (0.5·x)·(1 + erf(x·0x1.6a09e6p-1)).
inline Tensor gelu(const Tensor& x) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(gelu), reference::gelu, x);
}

/// g·(0.5·(1 + erf(x·0x1.6a09e6p-1)) + x·(0x1.988454p-2·exp(−0.5·(x·x)))), g the upstream gradient.
inline Tensor gelu_gradient(const Tensor& x, const Tensor& upstream) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(gelu_gradient), reference::gelu_gradient, x,
             upstream);
}

}  // namespace assay::kernels
