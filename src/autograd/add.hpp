// Addition and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/add.hpp"
#include "kernels/sum.hpp"

namespace assay {

/// a + b, broadcast by NumPy's rules. Gradient: the upstream gradient, summed back to each operand's shape (GRAPH-11).
/// Errors: GRAPH-11 for shapes that do not broadcast, GRAPH-13 for operands on two devices.
///
///     add(x, bias);  // [B, F] + [F]
inline Variable add(const Variable& a, const Variable& b) {
  return custom_gradient("add", kernels::add(a.value(), b.value()), {a, b},
                         [a = a.shape(), b = b.shape()](const Tensor& upstream, const std::vector<bool>& needed) {
                           return std::vector{needed[0] ? kernels::sum_to(upstream, a) : Tensor(),
                                              needed[1] ? kernels::sum_to(upstream, b) : Tensor()};
                         });
}

}  // namespace assay
