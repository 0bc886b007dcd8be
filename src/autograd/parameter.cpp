// The shared state of parameters, and transfers.
#include "autograd/parameter.hpp"

#include <set>

#include "autograd/graph.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/copy.hpp"

namespace assay {

struct Parameter::State : std::enable_shared_from_this<Parameter::State> {
  explicit State(Tensor value)
      : leaf(sabotaged("born_as_data") ? Variable(std::move(value)) : Variable::leaf(std::move(value))), proxy(this) {}
  Variable leaf;
  Variable data;  // of the leaf's value; defined while the parameter is frozen
  bool registered = false;
  Parameter proxy;  // what handles point to
};

Parameter::Parameter(Tensor value) : state_(std::make_shared<State>(value.keep())) {}
Parameter::Parameter(State* borrowed) : state_(std::shared_ptr<State>(), borrowed) {}
Parameter::Parameter(Parameter&& other) noexcept
    : state_(other.stays_bound() ? other.shared_state() : std::move(other.state_)) {
  if (sabotaged("moving_copies") && state_) state_ = std::make_shared<State>(value());
}

Parameter& Parameter::operator=(Parameter&& other) {
  if (state_.get() == other.state_.get()) return *this;
  if (stays_bound() && !sabotaged("bound_wrappers_take_another_state"))
    throw Error("LIFE-4", "assignment to a parameter", "one that no module registered",
                this == &state_->proxy ? "a handle's" : "a registered one");
  state_ = other.stays_bound() ? other.shared_state() : std::move(other.state_);
  return *this;
}

Parameter::State& Parameter::state() const {
  if (!state_) throw Error("LIFE-1", "use of a parameter", "one that holds a value", "one that was moved from");
  return *state_;
}

// The proxy does not own the state; whoever reached it holds a handle, from which the state can be shared again.
std::shared_ptr<Parameter::State> Parameter::shared_state() const {
  return state_.use_count() > 0 ? state_ : state().shared_from_this();
}

bool Parameter::stays_bound() const {
  if (!state_) return false;
  return (this == &state_->proxy && !sabotaged("handles_are_emptied")) ||
         (state_->registered && !sabotaged("registered_wrappers_are_emptied"));
}

const Tensor& Parameter::value() const { return state().leaf.value(); }

const Variable& Parameter::variable() const {
  return frozen() && !sabotaged("frozen_gathers_gradients") ? state().data : state().leaf;
}

Tensor Parameter::gradient() const { return state().leaf.gradient(); }

bool Parameter::has_pending_gradient() const {
  if (sabotaged("zeros_are_not_pending") && gradient().read<float>()[0] == 0) return false;
  return state().leaf.has_pending_gradient();
}

void Parameter::set_value(const Tensor& value) {
  const Tensor& old = this->value();
  if (!value.defined()) throw Error("ACC-9", "set_value", "a tensor with a value", "one without");
  if (!alike(value, old)) throw Error("ACC-4", "set_value", kind_of(old), kind_of(value));
  // A view of the old value would be read while it is written.
  const bool overlaps = value.shares_storage_with(old) && !sabotaged("set_value_reads_what_it_writes");
  if (sabotaged("update_is_recorded"))
    state().leaf =
        custom_gradient("update", old, {state().leaf}, [](const Tensor& g, const auto&) { return std::vector{g}; });
  if (sabotaged("set_value_replaces_the_tensor"))
    state().leaf.replace_value(kernels::copy(value));
  else
    kernels::copy_into(overlaps ? kernels::copy(value) : value, old);
  if (!sabotaged("set_value_keeps_the_gradient")) zero_gradient();
}

void Parameter::replace_value(Tensor value) {
  State& state = this->state();
  value = value.keep();
  state.leaf.replace_value(value);
  if (!state.data.defined() || sabotaged("frozen_data_stays_behind")) return;
  Variable::State& data = Variable::State::of(state.data);
  data.value = value;
  data.version = value.version();
}

void Parameter::set_gradient(Tensor gradient) { state().leaf.set_gradient(std::move(gradient)); }

void Parameter::zero_gradient() {
  if (sabotaged("zero_gradient_writes_the_value")) kernels::copy_into(kernels::copy(value()), value());
  state().leaf.zero_gradient();
}

void Parameter::freeze() {
  State& state = this->state();
  if (sabotaged("freezing_replaces_the_leaf")) state.leaf = Variable::leaf(value());
  if (!state.data.defined()) state.data = Variable(value());
}

void Parameter::unfreeze() {
  if (!sabotaged("frozen_for_ever")) state().data = {};
}

bool Parameter::frozen() const { return state().data.defined(); }

void Parameter::mark_registered(bool registered) { state().registered = registered; }

std::string Parameter::other_holders(long handles) const {
  const State& state = this->state();
  const long others = shared_state().use_count() - 1 - handles - (this != &state.proxy);
  if (others > 0 && !sabotaged("handles_are_not_counted"))
    return std::to_string(others) + " of handles, lists, optimisers or wrappers";
  if (!state.leaf.owns_node_alone() && !sabotaged("graphs_are_not_counted"))
    return "a variable or a graph that uses it";
  if (!value().owns_storage_alone() && !sabotaged("tensors_are_not_counted")) return "a tensor that shares its value";
  return {};
}

ParameterHandle Parameter::handle() const {
  if (sabotaged("handles_of_copies")) return ParameterHandle(std::make_shared<State>(value()));
  if (sabotaged("handles_do_not_own")) return ParameterHandle({std::shared_ptr<State>(), &state()});
  return ParameterHandle(shared_state());
}

Parameter& ParameterHandle::operator*() const {
  if (!state_) throw Error("LIFE-2", "use of a handle", "one of a parameter", "one of nothing");
  return state_->proxy;
}

void require_valid(const ParameterList& list, const std::string& operation, const char* id) {
  std::set<std::string> names;
  std::set<const Parameter*> identities;
  for (const NamedParameter& entry : list) {
    if (sabotaged("lists_unchecked")) break;
    if (entry.name.empty()) throw Error(id, operation, "a name for every parameter", "an empty one");
    if (!entry.parameter.get()) throw Error(id, operation, "a parameter behind \"" + entry.name + "\"", "none");
    if (!names.insert(entry.name).second) throw Error(id, operation, "each name once", "\"" + entry.name + "\" twice");
    if (!identities.insert(entry.parameter.get()).second)
      throw Error(id, operation, "each parameter once", "another name for it, \"" + entry.name + "\"");
  }
}

Tensor Transfer::prepared(const Tensor& value) const {
  Tensor moved = (sabotaged("transfer_by_way_of_float64") ? value.to(reference_device) : value).to(device_).keep();
  moved.succeed(value);
  return moved;
}

void Transfer::add(const ParameterHandle& parameter) {
  if (parameter->value().device() == device_ && !sabotaged("transfer_moves_what_is_there")) return;
  parameters_.emplace_back(parameter, prepared(parameter->value()));
  if (sabotaged("transfer_commits_as_it_prepares")) commit();
}

void Transfer::stage(Tensor& tensor) {
  if (!tensor.defined() || tensor.device() == device_ || sabotaged("buffers_stay")) return;
  staged_.emplace_back(&tensor, prepared(tensor));
  if (sabotaged("transfer_commits_as_it_prepares")) commit();
}

void Transfer::commit() noexcept {
  for (auto& [parameter, value] : parameters_) parameter->replace_value(std::move(value));
  for (auto& [tensor, value] : staged_) *tensor = std::move(value);
  parameters_.clear();
  staged_.clear();
}

void move_parameters_to(const ParameterList& list, Device device) {
  if (!sabotaged("transfer_takes_any_list")) require_valid(list, "transfer to " + to_string(device));
  Transfer transfer(device);
  for (const NamedParameter& entry : list) transfer.add(entry.parameter);
  transfer.commit();
}

}  // namespace assay
