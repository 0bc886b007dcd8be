// An affine map: one matrix product and one broadcast addition.
#include "nn/linear.hpp"

#include "autograd/add.hpp"
#include "autograd/matmul.hpp"
#include "autograd/views.hpp"
#include "base/error.hpp"
#include "nn/initialisers.hpp"

namespace assay {
namespace {

Shape weight_shape(std::int64_t in, std::int64_t out) {
  if (in < 1 || out < 1)
    throw Error("LAYER-1", "Linear", "widths of at least 1",
                std::to_string(in) + " in, " + std::to_string(out) + " out");
  return {out, in};
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, const Random& random, bool bias)
    : weight_(he_normal(weight_shape(in, out), random["weight"])) {
  register_parameter("weight", weight_);
  if (bias) register_parameter("bias", bias_.emplace(Tensor::zeros({out})));
}

Variable Linear::forward(const Variable& x) const {
  const Shape& weight = weight_.value().shape();
  if (x.shape().rank() < 1 || x.shape()[-1] != weight[1])
    throw Error("LAYER-1", "Linear", "a last extent of " + std::to_string(weight[1]), to_string(x.shape()));
  bool matrix = x.shape().rank() == 2;
  Variable rows = matrix ? x : reshape(x, {x.shape().size() / weight[1], weight[1]});
  Variable y = matmul(rows, transpose(weight_.variable(), 0, 1));
  if (bias_) y = add(y, bias_->variable());
  return matrix ? y : reshape(y, x.shape().with(-1, weight[0]));
}

}  // namespace assay
