// Natural logarithm and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/divide.hpp"
#include "kernels/log.hpp"

namespace assay {

/// log x, any shape, correctly rounded (N4); log(±0) = −∞, log(x < 0) = NaN (GRAPH-14). Gradient: g ÷ x, g the upstream
/// gradient.
///
///     log(Tensor::from<float>({1}, {1})).value().item();  // 0
inline Variable log(const Variable& x) {
  return custom_gradient("log", kernels::log(x.value()), {x},
                         [x = x.value()](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::divide(upstream, x)};
                         });
}

}  // namespace assay
