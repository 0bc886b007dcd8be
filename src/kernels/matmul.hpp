// Matrix product.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/matmul.hpp"

namespace assay::kernels {

/// c is row-major.
ASSAY_CPU_FAST_KERNEL(void matmul(View<const float> a, View<const float> b, View<float> c))

/// c = a·b with a [M, K] and b [K, N], each sum in chain order (N2). Either may be any view, so the four transpose
/// forms are views too. Errors: ACC-4 unless both are matrices with one K, GRAPH-13.
inline Tensor matmul(const Tensor& a, const Tensor& b) {
  require_same_device("matmul", a, b);
  if (a.shape().rank() != 2 || b.shape().rank() != 2 || a.shape()[1] != b.shape()[0])
    throw Error("ACC-4", "matmul", "shapes [M, K] and [K, N]", to_string(a.shape()) + " and " + to_string(b.shape()));
  Tensor c = Tensor::uninitialised({a.shape()[0], b.shape()[1]}, a.device());
  return run(c, ASSAY_CPU(matmul), reference::matmul, a, b);
}

}  // namespace assay::kernels
