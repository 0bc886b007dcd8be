// Affine map of the last axis with a matrix in 4 bits a number, and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/nf4_linear.hpp"
#include "kernels/sum.hpp"

namespace assay {

using kernels::Nf4;
using kernels::Nf4Options;

/// y = x·weightᵀ + bias with x […, in], weight [out, in] packed, bias [out] or an undefined variable for none, y
/// […, out]. It has the bits of `linear` with the dequantised matrix (N2), which exists nowhere: kernels form its
/// numbers, code·scale rounded to binary32, a panel at a time.
///
/// Gradients, with g the upstream gradient: by x g·weight, by bias the sum of g's rows in chain order. The matrix has
/// none (NF4-3). Errors: LAYER-1 for other shapes, GRAPH-13.
///
///     Variable y = nf4_linear(x, kernels::quantise(weight, {.block = 64}), bias);
inline Variable nf4_linear(const Variable& x, const Nf4& weight, const Variable& bias = {}) {
  std::vector<Variable> inputs{x, weight.codes, weight.scale_codes, weight.scales};
  if (bias.defined()) inputs.push_back(bias);
  auto vjp = [weight](const Tensor& upstream, const std::vector<bool>& needed) {
    std::vector<Tensor> gradients(needed.size());
    if (needed[0] && !sabotaged("nf4_input_has_no_gradient"))
      gradients[0] = kernels::nf4_linear_gradient(upstream, weight);
    if (needed.size() > 4 && needed[4]) gradients[4] = kernels::sum(kernels::rows_of(upstream), {0});
    if (sabotaged("nf4_gradient_is_dense")) Tensor::zeros(weight.shape, upstream.device());
    return gradients;
  };
  return custom_gradient("nf4_linear", kernels::nf4_linear(x.value(), weight, bias.defined() ? bias.value() : Tensor()),
                         inputs, vjp);
}

}  // namespace assay
