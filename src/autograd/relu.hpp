// Rectifier and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/relu.hpp"

namespace assay {

/// y = max(x, 0), any shape; NaN stays NaN, and −0 becomes +0. Gradient: the upstream gradient where x is positive or
/// NaN, else +0, so at 0 it is 0.
///
///     relu(Tensor::from<float>({-1, 2}, {2})).value().read<float>()[1];  // 2
inline Variable relu(const Variable& x) {
  return custom_gradient("relu", kernels::relu(x.value()), {x},
                         [value = x.value()](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::relu_gradient(value, upstream)};
                         });
}

}  // namespace assay
