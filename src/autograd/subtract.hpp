// Subtraction and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/multiply.hpp"
#include "kernels/subtract.hpp"
#include "kernels/sum.hpp"

namespace assay {

/// a − b, broadcast by NumPy's rules. Gradients: the upstream gradient g, summed back to each operand's shape
/// (GRAPH-11); by b that sum times −1, so +0 becomes −0.
/// Errors: GRAPH-11 for shapes that do not broadcast, GRAPH-13 for operands on two devices.
///
///     subtract(x, mean(x));
inline Variable subtract(const Variable& a, const Variable& b) {
  return custom_gradient("subtract", kernels::subtract(a.value(), b.value()), {a, b},
                         [a = a.shape(), b = b.shape()](const Tensor& upstream, const std::vector<bool>& needed) {
                           std::vector<Tensor> gradients(2);
                           if (needed[0]) gradients[0] = kernels::sum_to(upstream, a);
                           if (needed[1])
                             gradients[1] = kernels::multiply(kernels::sum_to(upstream, b),
                                                              Tensor::full({}, -1, upstream.device()));
                           return gradients;
                         });
}

}  // namespace assay
