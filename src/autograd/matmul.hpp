// Matrix product and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/matmul.hpp"

namespace assay {

/// c = a·b with a [M, K] and b [K, N], each element one chain over K (N2). Operands may be any views, a transposed one
/// included. Gradients: upstream·bᵀ and aᵀ·upstream. Errors: ACC-4 for shapes that do not match, GRAPH-13.
///
///     matmul(x, transpose(weight, 0, 1));  // x [B, in], weight [out, in]
inline Variable matmul(const Variable& a, const Variable& b) {
  return custom_gradient("matmul", kernels::matmul(a.value(), b.value()), {a, b},
                         [a = a.value(), b = b.value()](const Tensor& upstream, const std::vector<bool>& needed) {
                           return std::vector{needed[0] ? kernels::matmul(upstream, b.transpose(0, 1)) : Tensor(),
                                              needed[1] ? kernels::matmul(a.transpose(0, 1), upstream) : Tensor()};
                         });
}

}  // namespace assay
