// Logistic sigmoid.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/sigmoid.hpp"

namespace assay::kernels {

ASSAY_DECLARE_FAST_KERNEL(void sigmoid(View<const float> x, View<float> y))
ASSAY_DECLARE_FAST_KERNEL(void sigmoid_gradient(View<const float> y, View<const float> upstream, View<float> gradient))

/// 1 ÷ (1 + e⁻ˣ).
inline Tensor sigmoid(const Tensor& x) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(sigmoid), reference::sigmoid, x);
}

/// g·(y·(1 − y)) with y = sigmoid x, g the upstream gradient.
inline Tensor sigmoid_gradient(const Tensor& y, const Tensor& upstream) {
  return run(Tensor::uninitialised(y.shape(), y.device()), ASSAY_KERNEL(sigmoid_gradient), reference::sigmoid_gradient,
             y, upstream);
}

}  // namespace assay::kernels
