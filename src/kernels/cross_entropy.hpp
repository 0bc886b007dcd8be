// Cross entropy of rows of logits.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/cross_entropy.hpp"

namespace assay::kernels {

/// Logits, row losses and gradient are contiguous, and labels are in range; scale is one number.
ASSAY_DECLARE_FAST_KERNEL(void cross_entropy(View<const float> logits, View<const std::int32_t> labels,
                                             double smoothing, std::int32_t ignored, View<float> rows))
ASSAY_DECLARE_FAST_KERNEL(void cross_entropy_gradient(View<const float> logits, View<const std::int32_t> labels,
                                                      double smoothing, std::int32_t ignored, View<const float> scale,
                                                      View<float> gradient))

/// Refuses anything but logits [B, C], C > 0, with labels [B], int32, each in [0, C) or `ignored`. Errors: LAYER-3,
/// GRAPH-13, ACC-4 for labels of another type.
inline void require_labels(const char* operation, const Tensor& logits, const Tensor& labels, std::int32_t ignored) {
  require_same_device(operation, logits, labels);
  if (logits.shape().rank() != 2 || logits.shape()[1] == 0 || !(labels.shape() == Shape{logits.shape()[0]}))
    throw Error("LAYER-3", operation, "logits [B, C] of at least one class and labels [B]",
                to_string(logits.shape()) + " and " + to_string(labels.shape()));
  auto values = labels.read<std::int32_t>();
  for (std::int64_t row = 0; row < values.size(); ++row)
    if (values[row] != ignored && (values[row] < 0 || values[row] >= logits.shape()[1]))
      throw Error("LAYER-3", operation,
                  "a label in row " + std::to_string(row) + " from 0 to " + std::to_string(logits.shape()[1] - 1) +
                      ", or " + std::to_string(ignored) + " for none",
                  std::to_string(values[row]));
}

/// The loss of each row, [B], +0 where the label is `ignored`; its formula stands at assay::cross_entropy.
inline Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing, std::int32_t ignored) {
  return run(Tensor::uninitialised(labels.shape(), logits.device()), ASSAY_KERNEL(cross_entropy),
             reference::cross_entropy, contiguous(logits), Labels{labels}, smoothing, ignored);
}

/// (p − q)·scale, +0 in rows whose label is `ignored`.
inline Tensor cross_entropy_gradient(const Tensor& logits, const Tensor& labels, double smoothing, std::int32_t ignored,
                                     const Tensor& scale) {
  return run(Tensor::uninitialised(logits.shape(), logits.device()), ASSAY_KERNEL(cross_entropy_gradient),
             reference::cross_entropy_gradient, contiguous(logits), Labels{labels}, smoothing, ignored, scale);
}

}  // namespace assay::kernels
