// Logarithm of softmax and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/log_softmax.hpp"

namespace assay {

/// Logarithm of the softmax over the last axis: y = (x − m) − log D with m the row's maximum and D the lane sum of
/// exp(x − m) (N5). Gradient: g − exp(y)·lane(g), g the upstream gradient. A row of −∞ alone, or one that holds a NaN
/// or +∞, gives NaN (GRAPH-14). Errors: ACC-4 for a scalar.
///
///     log_softmax(scores);  // [B, C] → [B, C]
inline Variable log_softmax(const Variable& x) {
  Tensor y = kernels::log_softmax(x.value());
  return custom_gradient("log_softmax", y, {x}, [y](const Tensor& upstream, const std::vector<bool>&) {
    return std::vector{kernels::log_softmax_gradient(y, upstream)};
  });
}

}  // namespace assay
