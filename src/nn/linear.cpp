// The parameters of an affine map.
#include "nn/linear.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "nn/initialisers.hpp"

namespace assay {
namespace {

Shape weight_shape(std::int64_t in, std::int64_t out) {
  if ((in < 1 || out < 1) && !sabotaged("linear_takes_any_width"))
    throw Error("LAYER-1", "Linear", "widths of at least 1",
                std::to_string(in) + " in, " + std::to_string(out) + " out");
  return {out, in};
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, const Random& random, bool bias)
    : weight_(he_normal(weight_shape(in, out), random["weight"])) {
  register_parameter("weight", weight_);
  if (bias || sabotaged("linear_always_has_a_bias"))
    register_parameter("bias", bias_.emplace(Tensor::full({out}, sabotaged("linear_bias_not_zero") ? 1 : 0)));
}

Variable Linear::forward(const Variable& x, LinearOptions options) const {
  ForwardScope scope(*this);
  if (sabotaged("linear_allocates_more")) Tensor::zeros({1}, x.device());
  return linear(x, weight_.variable(), bias_ ? bias_->variable() : Variable(), options);
}

}  // namespace assay
