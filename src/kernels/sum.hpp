// Sums over axes.
#pragma once

#include <vector>

#include "kernels/dispatch.hpp"
#include "reference/sum.hpp"

namespace assay::kernels {

/// x has the `kept` kept axes first, then the summed ones; y has the kept axes. `lanes`: in lane order, else chain
/// order.
ASSAY_DECLARE_KERNEL(void sum(View<const float> x, int kept, bool lanes, View<float> y))

/// Sums over `axes` (negative ones count from the last), which vanish from the shape. In lane order when the last axis
/// is among them, else in chain order (N3). Errors: ACC-4 for an axis that does not exist or is named twice.
inline Tensor sum(const Tensor& x, const std::vector<int>& axes) {
  std::vector<bool> summed(static_cast<std::size_t>(x.shape().rank()));
  for (int axis : axes) {
    auto named = summed[static_cast<std::size_t>(x.shape().index(axis))];
    if (named) throw Error("ACC-4", "sum", "each axis once", "axis " + std::to_string(axis) + " twice");
    named = true;
  }
  std::vector<std::int64_t> kept;
  for (int axis = 0; axis < x.shape().rank(); ++axis)
    if (!summed[static_cast<std::size_t>(axis)]) kept.push_back(x.shape()[axis]);
  Tensor y = Tensor::uninitialised(Shape(kept), x.device());
  if (y.device() == reference_device) {
    device_log::launch(y.device(), "sum");
    y.write(reference::sum(oracle_operand(x), summed).values);
    return y;
  }
  Tensor ordered = x;
  for (int axis = 0, next = 0; axis < x.shape().rank(); ++axis)
    if (!summed[static_cast<std::size_t>(axis)]) ordered = ordered.move_axis(axis, next++);
  bool lanes = !summed.empty() && summed.back();
  if (sabotaged("sums_follow_memory")) lanes = x.contiguous() == lanes;
  launch(y.device(), ASSAY_KERNEL(sum), ordered, static_cast<int>(kept.size()), lanes, Out{y});
  return y;
}

/// The sum of all elements, a scalar, in lane order.
inline Tensor sum(const Tensor& x) {
  std::vector<int> axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis) axes.push_back(axis);
  return sum(x, axes);
}

/// Sums out what a broadcast from `shape` to x's shape had stretched: the gradient of `expand`.
inline Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (sabotaged("broadcast_gradient_is_lost")) return Tensor::zeros(shape, x.device());
  int added = x.shape().rank() - shape.rank();
  std::vector<int> axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis)
    if (axis < added || shape[axis - added] != x.shape()[axis]) axes.push_back(axis);
  return sum(x, axes).reshape(shape);
}

}  // namespace assay::kernels
