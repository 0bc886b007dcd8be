// Mean squared error and its gradients.
#pragma once

#include <algorithm>
#include <optional>

#include "autograd/variable.hpp"
#include "kernels/divide.hpp"
#include "kernels/mean_squared_error.hpp"
#include "kernels/multiply.hpp"

namespace assay {

/// Σ d·d ÷ binary32(count), a scalar, d = x − target in lane order; x and target have one shape. The count is the
/// number of elements unless it is given (a shard gives that of the whole batch). Gradient by x: (2·d)·(g ÷
/// binary32(count)), g the upstream gradient; by the target the same times −1. With a count of 0: loss +0. Errors:
/// LAYER-3 for two shapes or a count below the number of elements; GRAPH-13.
///
///     mean_squared_error(predicted, target);
inline Variable mean_squared_error(const Variable& x, const Variable& target,
                                   std::optional<std::int64_t> given_count = {}) {
  kernels::require_same_device("mean_squared_error", x.value(), target.value());
  if (!(x.shape() == target.shape()))
    throw Error("LAYER-3", "mean_squared_error", "operands of one shape",
                to_string(x.shape()) + " and " + to_string(target.shape()));
  std::int64_t size = x.shape().size();
  if (given_count.value_or(size) < size)
    throw Error("LAYER-3", "mean_squared_error", "a count of at least the " + std::to_string(size) + " elements",
                std::to_string(*given_count));
  std::int64_t divisor = std::max<std::int64_t>(1, given_count.value_or(size));
  Tensor count = Tensor::full({}, static_cast<double>(divisor), x.device());
  Tensor loss = kernels::divide(kernels::squared_error(x.value(), target.value()), count);
  return custom_gradient(
      "mean_squared_error", loss, {x, target},
      [x = x.value(), target = target.value(), count](const Tensor& upstream, const std::vector<bool>& needed) {
        Tensor by_x = kernels::squared_error_gradient(x, target, kernels::divide(upstream, count));
        return std::vector{by_x, needed[1] ? kernels::multiply(by_x, Tensor::full({}, -1, x.device())) : Tensor()};
      });
}

}  // namespace assay
