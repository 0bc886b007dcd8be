// Matrix product.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/matmul.hpp"

namespace assay::kernels {

/// What each finished sum of a product goes through, in this order (N2): + the bias of its column, then the rectifier,
/// then it is added to what c held.
struct Epilogue {
  View<const float> bias = {};  ///< one number a column, side by side; no data: none
  bool relu = false;
  bool accumulate = false;
};

/// c is row-major in its last two axes; the axes before them are the same in all three.
ASSAY_DECLARE_FAST_KERNEL(void matmul(View<const float> a, View<const float> b, Epilogue epilogue, View<float> c))
/// Of all that the profile fast computes otherwise, a GPU has this one: by cuBLAS. Errors: RES-6 where it is missing.
namespace fast_cuda {
void matmul(View<const float> a, View<const float> b, Epilogue epilogue, View<float> c);
}

/// c = a·b with a […, M, K] and b […, K, N], each sum in chain order (N2); axes before the last two broadcast. Either
/// may be any view, so the four transpose forms are views too. Errors: ACC-4 unless both have two axes and one K,
/// GRAPH-11 for axes that do not broadcast, GRAPH-13.
inline Tensor matmul(const Tensor& a, const Tensor& b) {
  require_same_device("matmul", a, b);
  const Shape &left = a.shape(), &right = b.shape();
  if (left.rank() < 2 || right.rank() < 2 || left[-1] != right[-2])
    throw Error("ACC-4", "matmul", "shapes […, M, K] and […, K, N]", to_string(left) + " and " + to_string(right));
  auto stretched = [&](std::int64_t rows, std::int64_t columns) {
    Shape common = broadcast("matmul", left.with(-2, 1).with(-1, 1), right.with(-2, 1).with(-1, 1));
    return common.with(-2, rows).with(-1, columns);
  };
  return run(Tensor::uninitialised(stretched(left[-2], right[-1]), a.device()),
             named("matmul",
                   [](Device device, auto x, auto y, auto z) {
                     ASSAY_KERNEL(matmul)
                     (device, x, y, Epilogue{}, z);
                   }),
             reference::matmul, a.expand(stretched(left[-2], left[-1])), b.expand(stretched(right[-2], right[-1])));
}

}  // namespace assay::kernels
