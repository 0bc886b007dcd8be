// Softmax over the last axis.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/softmax.hpp"

namespace assay::kernels {

/// Every operand is contiguous.
ASSAY_DECLARE_FAST_KERNEL(void softmax(View<const float> x, View<float> y))
ASSAY_DECLARE_FAST_KERNEL(void softmax_gradient(View<const float> y, View<const float> upstream, View<float> gradient))

/// y = exp(x − m) ÷ lane(exp(x − m)) in each row, m its maximum. Errors: ACC-4 for a scalar.
inline Tensor softmax(const Tensor& x) {
  x.shape().index(-1);
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(softmax), reference::softmax, contiguous(x));
}

/// y·(g − lane(g·y)), g the upstream gradient.
inline Tensor softmax_gradient(const Tensor& y, const Tensor& upstream) {
  return run(Tensor::uninitialised(y.shape(), y.device()), ASSAY_KERNEL(softmax_gradient), reference::softmax_gradient,
             contiguous(y), contiguous(upstream));
}

}  // namespace assay::kernels
