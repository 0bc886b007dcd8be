// Sums over axes and their gradients.
#pragma once

#include <vector>

#include "autograd/variable.hpp"
#include "kernels/copy.hpp"
#include "kernels/sum.hpp"

namespace assay {

/// Sums over `axes`, which vanish from the shape: in lane order when the last axis is among them, else in chain order
/// (N3). Gradient: the upstream gradient, stretched. Errors: ACC-4 for an axis that does not exist or is named twice.
///
///     sum(x, {0});  // [B, F] → [F]
inline Variable sum(const Variable& x, const std::vector<int>& axes) {
  Shape shape = x.shape(), with_ones = shape;
  for (int axis : axes) with_ones = with_ones.with(axis, 1);
  return custom_gradient("sum", kernels::sum(x.value(), axes), {x},
                         [shape, with_ones](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::contiguous(upstream).reshape(with_ones).expand(shape)};
                         });
}

/// The sum of all elements, a scalar, in lane order.
inline Variable sum(const Variable& x) {
  std::vector<int> axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis) axes.push_back(axis);
  return sum(x, axes);
}

}  // namespace assay
