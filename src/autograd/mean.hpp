// Means over axes, composed of a sum and a division.
#pragma once

#include <vector>

#include "autograd/divide.hpp"
#include "autograd/sum.hpp"

namespace assay {

/// The sum over `axes`, which vanish from the shape, ÷ binary32(number of elements summed); of no elements NaN.
/// Gradient: the upstream gradient ÷ that number, stretched. Errors: ACC-4 for an axis that does not exist or is named
/// twice.
///
///     mean(x, {-1});  // [B, F] → [B]
inline Variable mean(const Variable& x, const std::vector<int>& axes) {
  Variable total = sum(x, axes);
  std::int64_t count = 1;
  for (int axis : axes) count *= x.shape()[axis];
  return divide(total, Tensor::full({}, static_cast<double>(count), x.device()));
}

/// The mean of all elements, a scalar.
inline Variable mean(const Variable& x) {
  return divide(sum(x), Tensor::full({}, static_cast<double>(x.shape().size()), x.device()));
}

}  // namespace assay
