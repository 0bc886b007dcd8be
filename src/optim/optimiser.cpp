// The two passes of a step, and checked state.
#include "optim/optimiser.hpp"

#include <charconv>

#include "base/error.hpp"
#include "kernels/copy.hpp"
#include "kernels/finite.hpp"

namespace assay {
namespace {

std::string text_of(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

}  // namespace

Optimiser::Optimiser(std::string kind, ParameterList parameters, std::vector<Slot> slots)
    : kind_(std::move(kind)), parameters_(std::move(parameters)), slots_(std::move(slots)) {
  require_valid(parameters_, kind_);
  if (parameters_.empty()) throw Error("OPT-1", kind_, "at least one parameter", "an empty list");
  device_ = parameters_[0].parameter->value().device();
  for (const NamedParameter& entry : parameters_) {
    const Tensor& value = entry.parameter->value();
    if (value.device() != device_)
      throw Error("OPT-1", kind_, "parameters on one device",
                  "\"" + parameters_[0].name + "\" on " + to_string(device_) + " and \"" + entry.name + "\" on " +
                      to_string(value.device()));
    if (!kernels::finite(value)) throw Error("OPT-1", kind_, "finite values", "\"" + entry.name + "\" not finite");
    state_.emplace_back();
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      state_.back().push_back(Tensor::zeros(value.shape(), device_).keep());
  }
}

void Optimiser::require(bool valid, const char* hyperparameter, const char* expected, double found) const {
  if (!valid) throw Error("OPT-2", std::string(hyperparameter) + " of " + kind_, expected, text_of(found));
}

void Optimiser::require_decay(const char* hyperparameter, double found) const {
  require(found >= 0 && static_cast<float>(found) < 1, hyperparameter, "at least 0 and below 1 in binary32", found);
}

void Optimiser::require_weight_decay(double found) const {
  require(found >= 0 && found - found == 0, "weight decay", "a finite number from 0", found);
}

void Optimiser::step(double learning_rate) {
  require(learning_rate >= 0 && learning_rate - learning_rate == 0, "learning rate", "a finite number from 0",
          learning_rate);
  for (const NamedParameter& entry : parameters_)
    if (entry.parameter->value().device() != device_)
      throw Error("XFER-9", "step of " + kind_, "\"" + entry.name + "\" on " + to_string(device_),
                  "it on " + to_string(entry.parameter->value().device()));
  auto for_each_update = [&](auto&& visit) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& parameter = *parameters_[i].parameter;
      if (parameter.has_pending_gradient())
        visit(i, Update{parameter.value(), state_[i], parameter.gradient(), learning_rate, step_count_ + 1});
    }
  };
  for_each_update([&](std::size_t i, const Update& update) {
    if (!is_finite(update))
      throw Error("OPT-3", "step " + std::to_string(update.step) + " of " + kind_, "finite results",
                  "\"" + parameters_[i].name + "\" not finite; nothing was changed");
  });
  for_each_update([&](std::size_t, const Update& update) { apply(update); });
  ++step_count_;
}

void Optimiser::zero_gradients() {
  for (const NamedParameter& entry : parameters_) entry.parameter->zero_gradient();
}

OptimiserState Optimiser::state() const {
  OptimiserState state{kind_, step_count_, {}};
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      state.tensors.push_back({slots_[slot].name + "." + parameters_[i].name, state_[i][slot]});
  return state;
}

void Optimiser::load_state(const OptimiserState& state) {
  auto require_same = [&](const std::string& what, const std::string& expected, const std::string& found) {
    if (expected != found) throw Error("OPT-7", "load_state of " + kind_ + ", " + what, expected, found);
  };
  auto quoted = [](const std::string& name) { return "\"" + name + "\""; };
  require_same("kind", quoted(kind_), quoted(state.kind));
  const std::vector<NamedTensor> own = this->state().tensors;
  require_same("number of tensors", std::to_string(own.size()), std::to_string(state.tensors.size()));
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string& name = state.tensors[i].name;
    const Tensor& tensor = state.tensors[i].tensor;
    require_same("tensor " + std::to_string(i), quoted(own[i].name), quoted(name));
    auto description = [](const Tensor& t) {
      return t.defined() ? std::string(name_of(t.dtype())) + " " + to_string(t.shape()) + " on " + to_string(t.device())
                         : "no value";
    };
    require_same(quoted(name), description(own[i].tensor), description(tensor));
    require_same(quoted(name), "finite elements", kernels::finite(tensor) ? "finite elements" : "one that is not");
    bool negative = false, zero = true;
    with_type(tensor.dtype(), [&](auto element) {
      for (auto value : tensor.read<decltype(element)>()) {
        negative = negative || value < 0;
        zero = zero && value == 0;
      }
    });
    if (slots_[i / parameters_.size()].non_negative)
      require_same(quoted(name), "no element below 0", negative ? "one below 0" : "no element below 0");
    if (state.step_count == 0) require_same(quoted(name) + " at step 0", "zeros", zero ? "zeros" : "other values");
  }
  for (std::size_t i = 0; i < own.size(); ++i) kernels::copy_into(state.tensors[i].tensor, own[i].tensor);
  step_count_ = state.step_count;
}

}  // namespace assay
