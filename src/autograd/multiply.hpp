// Multiplication and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/multiply.hpp"
#include "kernels/sum.hpp"

namespace assay {

/// a·b, element by element, broadcast by NumPy's rules. Gradients, with the upstream gradient g: g·b and g·a, then
/// summed back to the operand's shape (GRAPH-11).
/// Errors: GRAPH-11 for shapes that do not broadcast, GRAPH-13 for operands on two devices.
///
///     multiply(x, Tensor::full({}, 0.5));
inline Variable multiply(const Variable& a, const Variable& b) {
  return custom_gradient("multiply", kernels::multiply(a.value(), b.value()), {a, b},
                         [a = a.value(), b = b.value()](const Tensor& upstream, const std::vector<bool>& needed) {
                           std::vector<Tensor> gradients(2);
                           if (needed[0]) gradients[0] = kernels::sum_to(kernels::multiply(upstream, b), a.shape());
                           if (needed[1]) gradients[1] = kernels::sum_to(kernels::multiply(upstream, a), b.shape());
                           return gradients;
                         });
}

}  // namespace assay
