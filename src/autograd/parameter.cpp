// The shared state of parameters.
#include "autograd/parameter.hpp"

#include <set>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/copy.hpp"

namespace assay {

struct Parameter::State : std::enable_shared_from_this<Parameter::State> {
  explicit State(Tensor value) : variable(Variable::leaf(std::move(value))), proxy(this) {}
  Variable variable;
  bool registered = false;
  Parameter proxy;  // what handles point to
};

Parameter::Parameter(Tensor value) : state_(std::make_shared<State>(value.keep())) {}
Parameter::Parameter(State* borrowed) : state_(std::shared_ptr<State>(), borrowed) {}
Parameter::Parameter(Parameter&& other) noexcept = default;

Parameter& Parameter::operator=(Parameter&& other) {
  bool is_proxy = state_ && this == &state_->proxy;
  if (is_proxy || (state_ && state_->registered && this != &other))
    throw Error("LIFE-4", "assignment to a parameter", "one that no module registered",
                is_proxy ? "a handle's" : "a registered one");
  state_ = std::move(other.state_);
  return *this;
}

const Variable& Parameter::variable() const { return state_->variable; }

void Parameter::set_value(const Tensor& value) {
  if (!(value.shape() == this->value().shape()) || !(value.device() == this->value().device()))
    throw Error("ACC-4", "set_value", to_string(this->value().shape()) + " on " + to_string(this->value().device()),
                to_string(value.shape()) + " on " + to_string(value.device()));
  kernels::copy_into(value, this->value());
  zero_gradient();
}

void Parameter::replace_value(Tensor value) { state_->variable.replace_value(value.keep()); }
void Parameter::set_gradient(Tensor gradient) { state_->variable.set_gradient(std::move(gradient)); }
void Parameter::zero_gradient() { state_->variable.zero_gradient(); }

void Parameter::mark_registered() { state_->registered = true; }

ParameterHandle Parameter::handle() const {
  // The proxy does not own the state; whoever reached it holds a handle, from which the state can be shared again.
  return ParameterHandle(state_.use_count() > 0 ? state_ : state_->shared_from_this());
}

Parameter& ParameterHandle::operator*() const { return state_->proxy; }

void require_valid(const ParameterList& list, const std::string& operation) {
  std::set<std::string> names;
  std::set<const Parameter*> identities;
  for (const NamedParameter& entry : list) {
    if (sabotaged("lists_unchecked")) break;
    if (entry.name.empty()) throw Error("OPT-1", operation, "a name for every parameter", "an empty one");
    if (!entry.parameter.get()) throw Error("OPT-1", operation, "a parameter behind \"" + entry.name + "\"", "none");
    if (!names.insert(entry.name).second)
      throw Error("OPT-1", operation, "each name once", "\"" + entry.name + "\" twice");
    if (!identities.insert(entry.parameter.get()).second)
      throw Error("OPT-1", operation, "each parameter once", "another name for it, \"" + entry.name + "\"");
  }
}

void move_parameters_to(const ParameterList& list, Device device) {
  require_valid(list, "transfer to " + to_string(device));
  std::vector<std::pair<Parameter*, Tensor>> prepared;
  for (const NamedParameter& entry : list)
    if (!(entry.parameter->value().device() == device))
      prepared.emplace_back(entry.parameter.get(), entry.parameter->value().to(device));
  for (auto& [parameter, value] : prepared) parameter->replace_value(std::move(value));
}

}  // namespace assay
