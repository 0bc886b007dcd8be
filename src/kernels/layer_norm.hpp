// Layer normalisation over the last axis.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/layer_norm.hpp"

namespace assay::kernels {

/// Every operand is contiguous, D > 0: x, upstream, y and the gradient by x […, D]; scale, bias and the gradient by
/// scale [D]; statistics [2, rows].
ASSAY_DECLARE_KERNEL(void layer_norm(View<const float> x, View<const float> scale, View<const float> bias,
                                     double epsilon, View<float> statistics, View<float> y))
ASSAY_DECLARE_KERNEL(void layer_norm_gradient(View<const float> x, View<const float> statistics,
                                              View<const float> scale, View<const float> upstream,
                                              View<float> gradient))
ASSAY_DECLARE_KERNEL(void layer_norm_scale_gradient(View<const float> x, View<const float> statistics,
                                                    View<const float> upstream, View<float> gradient))

/// y, and what the gradients need: the mean m of each row, then r = 1/√(variance + ε) of each row, [2, rows].
struct Normalised {
  Tensor y, statistics;
};

/// The formulas stand at assay::layer_norm, which checks the operands.
inline Normalised layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon) {
  const Device device = x.device();
  const Normalised norm{Tensor::uninitialised(x.shape(), device),
                        Tensor::uninitialised({2, x.size() / x.shape()[-1]}, device)};
  if (device == reference_device) {
    device_log::launch(device, "layer_norm");
    Tensor(norm.statistics).write(reference::layer_norm_statistics(oracle_operand(x), epsilon).values);
    Tensor(norm.y).write(reference::layer_norm(oracle_operand(x), oracle_operand(norm.statistics),
                                               oracle_operand(scale), oracle_operand(bias))
                             .values);
  } else {
    launch(device, ASSAY_KERNEL(layer_norm), contiguous(x), contiguous(scale), contiguous(bias), epsilon,
           Out{norm.statistics}, Out{norm.y});
  }
  return norm;
}

/// The gradient by x.
inline Tensor layer_norm_gradient(const Tensor& x, const Tensor& statistics, const Tensor& scale,
                                  const Tensor& upstream) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(layer_norm_gradient),
             reference::layer_norm_gradient, contiguous(x), statistics, contiguous(scale), contiguous(upstream));
}

/// The gradient by scale.
inline Tensor layer_norm_scale_gradient(const Tensor& x, const Tensor& statistics, const Tensor& upstream) {
  return run(Tensor::uninitialised({x.shape()[-1]}, x.device()), ASSAY_KERNEL(layer_norm_scale_gradient),
             reference::layer_norm_scale_gradient, contiguous(x), statistics, contiguous(upstream));
}

}  // namespace assay::kernels
