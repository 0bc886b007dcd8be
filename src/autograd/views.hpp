// Zero-copy views of variables and their gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/copy.hpp"

namespace assay {

/// The operand with two axes exchanged, without a copy. Gradient: the upstream gradient, exchanged back.
inline Variable transpose(const Variable& x, int axis_a, int axis_b) {
  return custom_gradient("transpose", x.value().transpose(axis_a, axis_b), {x},
                         [axis_a, axis_b](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{upstream.transpose(axis_a, axis_b)};
                         });
}

/// The same elements, row-major, under another shape; without a copy where the operand is contiguous.
/// Errors: ACC-4 when the sizes differ.
inline Variable reshape(const Variable& x, const Shape& shape) {
  return custom_gradient("reshape", kernels::contiguous(x.value()).reshape(shape), {x},
                         [before = x.shape()](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::contiguous(upstream).reshape(before)};
                         });
}

/// Elements begin … end − 1 of one axis, without a copy. Gradient: the upstream gradient there, zeros elsewhere.
/// Errors: ACC-4 for a range outside the axis.
inline Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end) {
  return custom_gradient("slice", x.value().slice(axis, begin, end), {x},
                         [=, shape = x.shape()](const Tensor& upstream, const std::vector<bool>&) {
                           Tensor whole = Tensor::zeros(shape, upstream.device());
                           kernels::copy_into(upstream, whole.slice(axis, begin, end));
                           return std::vector{whole};
                         });
}

}  // namespace assay
