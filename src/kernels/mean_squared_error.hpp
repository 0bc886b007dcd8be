// Squared error of two tensors.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/mean_squared_error.hpp"

namespace assay::kernels {

/// x and target of squared_error are contiguous; total and scale are one number.
ASSAY_DECLARE_KERNEL(void squared_error(View<const float> x, View<const float> target, View<float> total))
ASSAY_DECLARE_KERNEL(void squared_error_gradient(View<const float> x, View<const float> target, View<const float> scale,
                                                 View<float> gradient))

/// Σ d·d with d = x − target, a scalar, in lane order.
inline Tensor squared_error(const Tensor& x, const Tensor& target) {
  return run(Tensor::uninitialised({}, x.device()), ASSAY_KERNEL(squared_error), reference::squared_error,
             contiguous(x), contiguous(target));
}

/// (2·(x − target))·scale.
inline Tensor squared_error_gradient(const Tensor& x, const Tensor& target, const Tensor& scale) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(squared_error_gradient),
             reference::squared_error_gradient, x, target, scale);
}

}  // namespace assay::kernels
