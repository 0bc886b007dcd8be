// Hyperbolic tangent and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/tanh.hpp"

namespace assay {

/// y = tanh x, any shape, correctly rounded (N4). Gradient: g·(1 − y·y), g the upstream gradient.
///
///     tanh(Tensor::from<float>({0}, {1})).value().item();  // 0
inline Variable tanh(const Variable& x) {
  Tensor y = kernels::tanh(x.value());
  return custom_gradient("tanh", y, {x}, [y](const Tensor& upstream, const std::vector<bool>&) {
    return std::vector{kernels::tanh_gradient(y, upstream)};
  });
}

}  // namespace assay
