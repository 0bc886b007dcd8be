// Maximum over one axis and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/maximum.hpp"

namespace assay {

/// The largest element along `axis`, which vanishes from the shape; a NaN beats every number and +0 beats −0 (N1).
/// Gradient: the upstream gradient at the lowest index that holds the maximum (a NaN first), +0 elsewhere.
/// Errors: ACC-4 for an axis that does not exist or has no elements.
///
///     maximum(x, -1);  // [B, C] → [B]
inline Variable maximum(const Variable& x, int axis) {
  return custom_gradient("maximum", kernels::maximum(x.value(), axis), {x},
                         [x = x.value(), axis](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::maximum_gradient(x, axis, upstream)};
                         });
}

}  // namespace assay
