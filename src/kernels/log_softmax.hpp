// Logarithm of softmax over the last axis.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/log_softmax.hpp"

namespace assay::kernels {

/// Every operand is contiguous.
ASSAY_DECLARE_FAST_KERNEL(void log_softmax(View<const float> x, View<float> y))
ASSAY_DECLARE_FAST_KERNEL(void log_softmax_gradient(View<const float> y, View<const float> upstream,
                                                    View<float> gradient))

/// y = (x − m) − log(lane(exp(x − m))) in each row, m its maximum. Errors: ACC-4 for a scalar.
inline Tensor log_softmax(const Tensor& x) {
  x.shape().index(-1);
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(log_softmax), reference::log_softmax,
             contiguous(x));
}

/// g − exp(y)·lane(g), g the upstream gradient.
inline Tensor log_softmax_gradient(const Tensor& y, const Tensor& upstream) {
  return run(Tensor::uninitialised(y.shape(), y.device()), ASSAY_KERNEL(log_softmax_gradient),
             reference::log_softmax_gradient, contiguous(y), contiguous(upstream));
}

}  // namespace assay::kernels
