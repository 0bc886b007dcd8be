// Softmax and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/softmax.hpp"

namespace assay {

/// Softmax over the last axis: y = exp(x − m) ÷ D with m the row's maximum and D the lane sum of exp(x − m) (N5).
/// Gradient: y·(g − lane(g·y)), g the upstream gradient. A row of −∞ alone, or one that holds a NaN or +∞, gives NaN
/// (GRAPH-14). Errors: ACC-4 for a scalar.
///
///     softmax(scores);  // [B, C] → [B, C], rows that add up to 1
inline Variable softmax(const Variable& x) {
  Tensor y = kernels::softmax(x.value());
  return custom_gradient("softmax", y, {x}, [y](const Tensor& upstream, const std::vector<bool>&) {
    return std::vector{kernels::softmax_gradient(y, upstream)};
  });
}

}  // namespace assay
