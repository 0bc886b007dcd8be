// Affine map of the last axis with a matrix in 4 bits a number.
#pragma once

#include "kernels/linear.hpp"
#include "kernels/nf4.hpp"
#include "reference/nf4_linear.hpp"

namespace assay::kernels {

/// Operands are row-major; scale_codes may be empty, and bias without data.
ASSAY_DECLARE_KERNEL(void nf4_linear(View<const float> x, View<const std::uint8_t> codes,
                                     View<const std::uint8_t> scale_codes, View<const float> scales, std::int64_t block,
                                     View<const float> bias, View<float> y);
                     void nf4_linear_gradient(View<const float> upstream, View<const std::uint8_t> codes,
                                              View<const std::uint8_t> scale_codes, View<const float> scales,
                                              std::int64_t block, View<float> gradient))

using Bytes = As<std::uint8_t>;

/// What a kernel has of packed numbers.
ASSAY_INLINE numerics::Nf4Numbers nf4_numbers(const View<const std::uint8_t>& codes,
                                              const View<const std::uint8_t>& scale_codes,
                                              const View<const float>& scales, std::int64_t block) {
  return {codes.data, scale_codes.extent[0] != 0 ? scale_codes.data : nullptr, scales.data, block};
}

/// y = x·weightᵀ + bias with x […, in], weight [out, in] and bias [out] or undefined, in the bits of `dequantise` and
/// `linear`; the matrix itself is nowhere. Errors: LAYER-1, GRAPH-13 as `linear`.
inline Tensor nf4_linear(const Tensor& x, const Nf4& weight, const Tensor& bias) {
  const Shape &in = x.shape(), &matrix = weight.shape;
  if (in.rank() < 1 || in[-1] != matrix[1] || (bias.defined() && !(bias.shape() == Shape{matrix[0]})))
    throw Error("LAYER-1", "nf4_linear", "shapes […, in], [out, in] and, with a bias, [out]",
                to_string(in) + ", " + to_string(matrix) + (bias.defined() ? " and " + to_string(bias.shape()) : ""));
  require_same_device("nf4_linear", x, weight.codes);
  if (bias.defined()) require_same_device("nf4_linear", x, bias);
  const Tensor added = bias.defined() ? contiguous(bias) : bias;
  auto kernel = named("nf4_linear", [&](Device device, auto rows, auto codes, auto scale_codes, auto scales, auto y) {
    ASSAY_KERNEL(nf4_linear)
    (device, rows, codes, scale_codes, scales, weight.block, added.defined() ? operand(added) : View<const float>(), y);
  });
  auto oracle = [&](const auto& rows, const auto& codes, const auto& scale_codes, const auto& scales) {
    return reference::nf4_linear(rows, codes, scale_codes, scales, weight.block,
                                 added.defined() ? oracle_operand(added) : reference::zeros({matrix[0]}));
  };
  const Tensor rows = contiguous(rows_of(x));
  return run(Tensor::uninitialised({rows.shape()[0], matrix[0]}, x.device()), kernel, oracle, rows, Bytes{weight.codes},
             Bytes{weight.scale_codes}, weight.scales)
      .reshape(in.with(-1, matrix[0]));
}

/// The gradient by x, upstream·weight, with upstream […, out]: the bits of the matrix product with `dequantise`.
inline Tensor nf4_linear_gradient(const Tensor& upstream, const Nf4& weight) {
  auto kernel = named("nf4_linear_gradient",
                      [&](Device device, auto rows, auto codes, auto scale_codes, auto scales, auto gradient) {
                        ASSAY_KERNEL(nf4_linear_gradient)
                        (device, rows, codes, scale_codes, scales, weight.block, gradient);
                      });
  auto oracle = [&](const auto& rows, const auto& codes, const auto& scale_codes, const auto& scales) {
    return reference::nf4_linear_gradient(rows, codes, scale_codes, scales, weight.block, weight.shape[1]);
  };
  const Tensor rows = contiguous(rows_of(upstream));
  return run(Tensor::uninitialised({rows.shape()[0], weight.shape[1]}, upstream.device()), kernel, oracle, rows,
             Bytes{weight.codes}, Bytes{weight.scale_codes}, weight.scales)
      .reshape(upstream.shape().with(-1, weight.shape[1]));
}

}  // namespace assay::kernels
