// Affine map of the last axis and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/defects.hpp"
#include "kernels/linear.hpp"
#include "kernels/relu.hpp"
#include "kernels/sum.hpp"

namespace assay {

struct LinearOptions {
  bool relu = false;  ///< relu(y), with the bits of two operations in one pass over memory
};

/// y = x·weightᵀ + bias with x […, in], weight [out, in], bias [out] or an undefined variable for none, y […, out].
/// Each element is one chain over `in` (N2), then + bias. It has the bits of matmul, add and relu, and allocates its
/// result and nothing else when x is a matrix, or row-major.
///
/// Gradients, with g the upstream gradient […, out], +0 where relu gave 0: by x g·weight, by weight gᵀ·x, by bias the
/// sum of g's rows in chain order. Errors: LAYER-1 for other shapes, GRAPH-13.
///
///     Variable hidden = linear(images, weight, bias, {.relu = true});  // [128, 784], [512, 784], [512] → [128, 512]
inline Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {},
                       LinearOptions options = {}) {
  const Tensor added = bias.defined() ? bias.value() : Tensor();
  Tensor y = kernels::linear(x.value(), weight.value(), added, options.relu);
  y = kernels::defects::linear(y, x.value(), weight.value(), added, options.relu);
  std::vector<Variable> inputs{x, weight};
  if (bias.defined()) inputs.push_back(bias);
  auto vjp = [x = x.value(), w = weight.value(), y, options](const Tensor& upstream, const std::vector<bool>& needed) {
    // y is above 0, or NaN, exactly where the sum before the rectifier was.
    const bool cut = options.relu && !(sabotaged("rectifier_is_forgotten_on_simulated") && x.device() == simulated);
    Tensor g = kernels::rows_of(cut ? kernels::relu_gradient(y, upstream) : upstream);
    std::vector<Tensor> gradients(needed.size());
    if (needed[0]) gradients[0] = kernels::matmul(g, w).reshape(x.shape());
    if (needed[1]) gradients[1] = kernels::matmul(g.transpose(0, 1), kernels::rows_of(x));
    if (needed.size() > 2 && needed[2]) gradients[2] = kernels::sum(g, {0});
    return gradients;
  };
  return custom_gradient("linear", y, inputs, vjp);
}

}  // namespace assay
