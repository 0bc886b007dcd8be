// Division and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/divide.hpp"
#include "kernels/multiply.hpp"
#include "kernels/sum.hpp"

namespace assay {

/// y = a ÷ b, element by element, broadcast by NumPy's rules; b = 0 gives ±∞ or NaN as IEEE 754 does (GRAPH-14).
/// Gradients, with the upstream gradient g: by a g ÷ b, summed back to a's shape; by b (g·y) ÷ b, summed back to b's
/// shape, then times −1.
/// Errors: GRAPH-11 for shapes that do not broadcast, GRAPH-13 for operands on two devices.
///
///     divide(x, Tensor::full({}, 255));
inline Variable divide(const Variable& a, const Variable& b) {
  Tensor y = kernels::divide(a.value(), b.value());
  return custom_gradient(
      "divide", y, {a, b}, [a = a.shape(), b = b.value(), y](const Tensor& upstream, const std::vector<bool>& needed) {
        std::vector<Tensor> gradients(2);
        if (needed[0]) gradients[0] = kernels::sum_to(kernels::divide(upstream, b), a);
        if (needed[1]) {
          Tensor rate = kernels::sum_to(kernels::divide(kernels::multiply(upstream, y), b), b.shape());
          gradients[1] = kernels::multiply(rate, Tensor::full({}, -1, upstream.device()));
        }
        return gradients;
      });
}

}  // namespace assay
