// Exponential function and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/exp.hpp"
#include "kernels/multiply.hpp"

namespace assay {

/// y = eˣ, any shape, correctly rounded (N4); beyond the range of binary32 +∞ or +0. Gradient: g·y, g the upstream
/// gradient.
///
///     exp(Tensor::from<float>({0}, {1})).value().item();  // 1
inline Variable exp(const Variable& x) {
  Tensor y = kernels::exp(x.value());
  return custom_gradient("exp", y, {x}, [y](const Tensor& upstream, const std::vector<bool>&) {
    return std::vector{kernels::multiply(upstream, y)};
  });
}

}  // namespace assay
