// The parameters of an affine map, its codes, and what an adapter adds.
#include "nn/linear.hpp"

#include "autograd/relu.hpp"
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
    : in_(in), out_(out), weight_(he_normal(weight_shape(in, out), random["weight"])) {
  register_parameter("weight", weight_);
  if (bias || sabotaged("linear_always_has_a_bias"))
    register_parameter("bias", bias_.emplace(Tensor::full({out}, sabotaged("linear_bias_not_zero") ? 1 : 0)));
}

Variable Linear::forward(const Variable& x, LinearOptions options) const {
  ForwardScope scope(*this);
  if (sabotaged("linear_allocates_more")) Tensor::zeros({1}, x.device());
  const Variable bias = bias_ ? bias_->variable() : Variable();
  const bool adapted = adapter_ && !adapter_->before_merge.defined();
  if (!packed_ && !adapted) return linear(x, weight_.variable(), bias, options);
  Variable y = packed_ ? nf4_linear(x, *packed_, bias) : linear(x, weight_.variable(), bias);
  if (adapted) {
    std::optional<ModuleNameScope> name;
    if (TraceScope::active()) name.emplace(path().empty() ? "adapter" : path() + ".adapter");
    y = adapter_->add_to(y, x);
  }
  return options.relu ? relu(y) : y;
}

Parameter& Linear::weight() {
  if (packed_) throw Error("NF4-4", "use of a weight", "a dense one", "codes of 4 bits");
  return weight_;
}

void Linear::require_fitting(const char* operation, const Shape& shape, Device device) const {
  if (!(shape == Shape{out_, in_}) || !(device == this->device()))
    throw Error("NF4-4", operation, to_string(Shape{out_, in_}) + " on " + to_string(this->device()),
                to_string(shape) + " on " + to_string(device));
}

Parameter Linear::pack_weight(Nf4 packed) {
  if (packed_) throw Error("NF4-4", "quantise", "a dense weight", "codes of 4 bits");
  if (adapter_ && adapter_->before_merge.defined())
    throw Error("NF4-4", "quantise", "a weight without a merged adapter", "one with it");
  require_fitting("quantise", packed.shape, packed.codes.device());
  if (sabotaged("quantising_asks_nobody")) return (packed_ = std::move(packed)), Parameter(weight_.value());
  deactivate_parameter("weight", weight_);
  packed_ = std::move(packed);
  return std::move(weight_);
}

void Linear::unpack_weight(Parameter dense) {
  if (!packed_) throw Error("NF4-4", "dequantise", "codes of 4 bits", "a dense weight");
  require_fitting("dequantise", dense.value().shape(), dense.value().device());
  reactivate_parameter("weight", dense);
  weight_ = std::move(dense);
  packed_.reset();
}

void Linear::attach(std::unique_ptr<LowRankAdapter> adapter) {
  if (adapter_) throw Error("LORA-3", "attach an adapter", "a layer without one", "one that has it");
  if (sabotaged("attaching_writes_the_weight") && !packed_) weight_.set_value(weight_.value());
  adapter_ = std::move(adapter);
}

ParameterList Linear::extra_parameters_for_transfer() const {
  if (!adapter_) return {};
  return {{"adapter.down", adapter_->down.handle()}, {"adapter.up", adapter_->up.handle()}};
}

void Linear::stage_transfer(Transfer& transfer) {
  if (packed_ && !sabotaged("codes_stay_behind"))
    for (Tensor* part : {&packed_->codes, &packed_->scale_codes, &packed_->scales}) transfer.stage(*part);
  if (adapter_) transfer.stage(adapter_->before_merge);
}

}  // namespace assay
