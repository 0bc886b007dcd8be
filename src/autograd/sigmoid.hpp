// Logistic sigmoid and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/sigmoid.hpp"

namespace assay {

/// y = 1 ÷ (1 + e⁻ˣ), any shape, correctly rounded (N4). Gradient: g·(y·(1 − y)), g the upstream gradient.
///
///     sigmoid(Tensor::from<float>({0}, {1})).value().item();  // 0.5
inline Variable sigmoid(const Variable& x) {
  Tensor y = kernels::sigmoid(x.value());
  return custom_gradient("sigmoid", y, {x}, [y](const Tensor& upstream, const std::vector<bool>&) {
    return std::vector{kernels::sigmoid_gradient(y, upstream)};
  });
}

}  // namespace assay
