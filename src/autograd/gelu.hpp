// Gaussian error linear unit and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/gelu.hpp"

namespace assay {

/// y = (0.5·x)·(1 + erf(x·0x1.6a09e6p-1)), any shape: x times the chance that a normal number is below x. Gradient,
/// with the upstream gradient g: g·(0.5·(1 + erf(x·0x1.6a09e6p-1)) + x·(0x1.988454p-2·exp(−0.5·(x·x)))); the constants
/// are √½ and 1/√(2π). At −∞ the value and at ±∞ the gradient is NaN, as the formula says. The forward keeps
/// 0.5·(1 + erf(…)) for the gradient, which so takes a third of the time.
///
/// Source: D. Hendrycks, K. Gimpel, "Gaussian error linear units" (2016).
///
///     gelu(Tensor::from<float>({1}, {1})).value().item();  // 0.841345
inline Variable gelu(const Variable& x) {
  const kernels::Gelu result = kernels::gelu(x.value());
  return custom_gradient("gelu", result.y, {x},
                         [x = x.value(), below = result.below](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::gelu_gradient(x, below, upstream)};
                         });
}

}  // namespace assay
