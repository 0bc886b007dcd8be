// Hyperbolic tangent.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/tanh.hpp"

namespace assay::kernels {

ASSAY_DECLARE_FAST_KERNEL(void tanh(View<const float> x, View<float> y))
ASSAY_DECLARE_FAST_KERNEL(void tanh_gradient(View<const float> y, View<const float> upstream, View<float> gradient))

/// tanh x.
inline Tensor tanh(const Tensor& x) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(tanh), reference::tanh, x);
}

/// g·(1 − y·y) with y = tanh x, g the upstream gradient.
inline Tensor tanh_gradient(const Tensor& y, const Tensor& upstream) {
  return run(Tensor::uninitialised(y.shape(), y.device()), ASSAY_KERNEL(tanh_gradient), reference::tanh_gradient, y,
             upstream);
}

}  // namespace assay::kernels
