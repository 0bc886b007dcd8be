// Rectifier.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/relu.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void relu(View<const float> x, View<float> y))
ASSAY_DECLARE_KERNEL(void relu_gradient(View<const float> x, View<const float> upstream, View<float> gradient))

/// y = x where x is positive or NaN, else +0.
inline Tensor relu(const Tensor& x) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(relu), reference::relu, x);
}

/// The upstream gradient where x is positive or NaN, else +0.
inline Tensor relu_gradient(const Tensor& x, const Tensor& upstream) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(relu_gradient), reference::relu_gradient, x,
             upstream);
}

}  // namespace assay::kernels
