// Matrix product and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "base/sabotage.hpp"
#include "kernels/matmul.hpp"
#include "kernels/multiply.hpp"
#include "kernels/sum.hpp"

namespace assay {

/// c = a·b with a […, M, K] and b […, K, N], each element one chain over K (N2); the axes before the last two broadcast
/// by NumPy's rules. Operands may be any views, a transposed one included. Gradients: upstream·bᵀ and aᵀ·upstream,
/// summed back to the operand's shape. Errors: ACC-4 for shapes that do not match, GRAPH-11 for axes that do not
/// broadcast, GRAPH-13.
///
///     matmul(queries, transpose(keys, -2, -1));  // [B, T, D] and [B, S, D] → [B, T, S]
inline Variable matmul(const Variable& a, const Variable& b) {
  Tensor c = kernels::matmul(a.value(), b.value());
  if (sabotaged("one_row_is_a_dot_product") && a.shape()[0] == 1)
    c = kernels::sum(kernels::multiply(a.value(), b.value().transpose(-2, -1)), {-1}).reshape(c.shape());
  return custom_gradient(
      "matmul", c, {a, b}, [a = a.value(), b = b.value()](const Tensor& upstream, const std::vector<bool>& needed) {
        return std::vector{
            needed[0] ? kernels::sum_to(kernels::matmul(upstream, b.transpose(-2, -1)), a.shape()) : Tensor(),
            needed[1] ? kernels::sum_to(kernels::matmul(a.transpose(-2, -1), upstream), b.shape()) : Tensor()};
      });
}

}  // namespace assay
