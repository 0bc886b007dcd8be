// Affine map of the last axis, with a rectifier behind it or not: a matrix product and its epilogue.
#pragma once

#include <utility>

#include "kernels/copy.hpp"
#include "kernels/matmul.hpp"
#include "reference/linear.hpp"

namespace assay::kernels {

/// A tensor […, F] as the matrix of its rows, [rows, F].
inline Tensor rows_of(const Tensor& x) {
  if (x.shape().rank() == 2) return x;
  return contiguous(x).reshape({x.shape().with(-1, 1).size(), x.shape()[-1]});
}

/// y = x·weightᵀ + bias, then the rectifier with `relu`; x […, in], weight [out, in], bias [out] or undefined. The
/// product is in chain order. Errors: LAYER-1 for other shapes, GRAPH-13.
inline Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool relu) {
  const Shape &in = x.shape(), &matrix = weight.shape();
  if (in.rank() < 1 || matrix.rank() != 2 || in[-1] != matrix[1] ||
      (bias.defined() && !(bias.shape() == Shape{matrix[0]})))
    throw Error("LAYER-1", "linear", "shapes […, in], [out, in] and, with a bias, [out]",
                to_string(in) + ", " + to_string(matrix) + (bias.defined() ? " and " + to_string(bias.shape()) : ""));
  require_same_device("linear", x, weight);
  if (bias.defined()) require_same_device("linear", x, bias);
  const Tensor rows = rows_of(x), added = bias.defined() ? contiguous(bias) : bias;
  Tensor y = Tensor::uninitialised({rows.shape()[0], matrix[0]}, x.device());
  auto kernel = named("linear", [&](Device device, auto a, auto w, auto c) {
    std::swap(w.extent[0], w.extent[1]);
    std::swap(w.stride[0], w.stride[1]);
    ASSAY_KERNEL(matmul)(device, a, w, Epilogue{added.defined() ? operand(added) : View<const float>(), relu}, c);
  });
  auto oracle = [&](const auto& a, const auto& w) {
    return reference::linear(a, w, added.defined() ? oracle_operand(added) : reference::zeros({matrix[0]}), relu);
  };
  return run(y, kernel, oracle, rows, weight).reshape(in.with(-1, matrix[0]));
}

}  // namespace assay::kernels
