// Variables: recording what operations do, and destruction without recursion.
#include "autograd/variable.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "autograd/graph.hpp"
#include "autograd/trace.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/counters.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/finite.hpp"

namespace assay {
namespace {

std::atomic<std::uint64_t> next_number{0};
thread_local SegmentScope* this_segment = nullptr;

// What a state gives up when it dies. A chain may be a million operations long, so the states that die with one are
// taken apart in a loop: whichever dies meanwhile, held by an operand or by what a rule captured, joins the list.
struct History {
  std::vector<Variable::State::Operand> operands;
  Vjp vjp;
  Replay replay;
};
thread_local std::vector<History>* dying = nullptr;

/// `what` names the tensor; it is asked only when that is to be refused.
template <class What>
void require_unchanged(const Variable::State& state, const Tensor& now, const Tensor& then, std::uint64_t version_then,
                       What what) {
  const bool same = now.shares_storage_with(then);
  if (same && now.version() == version_then) return;
  const char* id = state.replay ? "CKPT-3" : "GRAPH-5";
  const std::string operation = "backward through " + std::string(state.operation);
  if (!same) throw Error(id, operation, what() + " as it was", "another tensor in its place");
  throw Error(id, operation, what() + " at version " + std::to_string(version_then),
              "version " + std::to_string(now.version()));
}

}  // namespace

std::uint32_t& modes() {
  static std::uint32_t of_all_threads = 0;
  return sabotaged("scopes_are_for_all_threads") ? of_all_threads : thread_modes;
}
SegmentScope*& current_segment() { return this_segment; }

Variable::State::State() : number(next_number++) {}

Variable::State::~State() {
  if (operands.empty()) return;
  History own{std::move(operands), std::move(vjp), std::move(replay)};
  if (dying && !sabotaged("destruction_recurses")) {
    dying->push_back(std::move(own));
    return;
  }
  std::vector<History> list;
  list.push_back(std::move(own));
  dying = &list;
  while (!list.empty()) {
    History next = std::move(list.back());
    list.pop_back();
  }
  dying = nullptr;
}

void Variable::State::record(const char* name, const std::vector<Variable>& inputs, const std::vector<bool>& needed) {
  operation = name;
  requires_gradient = true;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operands.push_back({inputs[i], inputs[i].value(), inputs[i].value().version(), needed[i]});
}

void Variable::State::require_unchanged() const {
  if (!is_leaf())
    assay::require_unchanged(*this, value, value, version, [&] { return "the result " + to_string(value.shape()); });
  for (std::size_t position = 0; position < operands.size(); ++position) {
    const Operand& operand = operands[position];
    assay::require_unchanged(*this, operand.variable.state_->value, operand.value, operand.version, [&] {
      return "operand " + std::to_string(position) + " " + to_string(operand.value.shape());
    });
  }
}

void Variable::State::require_leaf(const char* call) const {
  if (!is_leaf() || !requires_gradient)
    throw Error("GRAPH-7", call, "a leaf that gathers a gradient",
                is_leaf() ? "data" : "the result of " + std::string(operation));
}

Variable::Variable(Tensor data) : state_(std::make_shared<State>()) {
  state_->version = data.version();
  state_->value = std::move(data);
}

Variable Variable::leaf(Tensor value) {
  Variable variable(std::move(value));
  variable.state_->requires_gradient = true;
  return variable;
}

const Tensor& Variable::value() const {
  if (!defined()) throw Error("ACC-9", "value of a variable", "a variable with a value", "one without");
  return state_->value;
}
bool Variable::requires_gradient() const { return defined() && state_->requires_gradient; }
bool Variable::has_pending_gradient() const { return defined() && state_->gradient.defined(); }

Tensor Variable::gradient() const {
  state_->require_leaf("gradient");
  return has_pending_gradient() ? state_->gradient : Tensor::zeros(shape(), device());
}

void Variable::set_gradient(Tensor gradient) {
  state_->require_leaf("set_gradient");
  if (!alike(gradient, value())) throw Error("GRAPH-1", "set_gradient", kind_of(value()), kind_of(gradient));
  state_->gradient = gradient.keep();
}

void Variable::zero_gradient() {
  state_->require_leaf("zero_gradient");
  state_->gradient = {};
}

void Variable::replace_value(Tensor value) {
  state_->require_leaf("replace_value");
  if (!(value.shape() == shape())) throw Error("ACC-4", "replace_value", to_string(shape()), to_string(value.shape()));
  value.succeed(state_->value);
  state_->version = value.version();
  state_->value = std::move(value);
  if (!sabotaged("replaced_values_keep_the_gradient")) state_->gradient = {};
}

Variable custom_gradient(const char* operation, Tensor output, const std::vector<Variable>& inputs, Vjp vjp) {
  if ((!vjp || inputs.empty()) && !sabotaged("empty_rule_is_taken"))
    throw Error("VJP-5", operation, "a gradient rule and at least one input", vjp ? "no inputs" : "no rule");
  device_log::access(Access::node, {"", 0, operation});
  if (sabotaged("producer_counts_twice")) device_log::access(Access::node, {"", 0, operation});
  std::vector<bool> needed;
  for (const Variable& input : inputs) needed.push_back(input.requires_gradient());
  SegmentScope* segment = current_segment();
  if (segment) segment->admit(operation, inputs, needed);
  const bool traced = TraceScope::active();
  if (traced && !(segment && segment->mode() == SegmentScope::Mode::replay))
    TraceScope::tell({"forward", ModuleNameScope::current(), operation, -1, output});
  if (modes() & checking_anomalies) require_finite(operation, output);
  Variable result(std::move(output));
  Variable::State& state = Variable::State::of(result);
  if (sabotaged("rule_is_kept")) state.vjp = vjp;
  if ((modes() & no_recording) || std::find(needed.begin(), needed.end(), true) == needed.end()) return result;
  state.record(operation, inputs, needed);
  if (traced) state.module = ModuleNameScope::current();
  state.vjp = std::move(vjp);
  return result;
}

bool alike(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.device() == b.device();
}

std::string kind_of(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape()) + " on " + to_string(tensor.device());
}

void require_finite(const std::string& operation, const Tensor& tensor) {
  if (sabotaged("anomaly_check_is_blind") || tensor.dtype() != real(tensor.device()) || kernels::finite(tensor)) return;
  with_type(tensor.dtype(), [&](auto zero) {
    auto values = tensor.read<decltype(zero)>();
    auto odd = std::find_if(values.begin(), values.end(), [](auto value) { return value - value != 0; });
    throw Error("GRAPH-14", operation, "finite results",
                std::string(*odd != *odd ? "nan"
                            : *odd > 0   ? "inf"
                                         : "-inf") +
                    " at element " + std::to_string(odd - values.begin()) + " of " + to_string(tensor.shape()));
  });
}

namespace {

/// Sets a mode and gives what it was.
bool exchange_mode(std::uint32_t mode, bool on) {
  const bool before = modes() & mode;
  modes() = on ? modes() | mode : modes() & ~mode;
  return before;
}

}  // namespace

NoGradScope::NoGradScope() : before_(exchange_mode(no_recording, true)) {}
NoGradScope::~NoGradScope() {
  exchange_mode(no_recording, (before_ || sabotaged("scopes_do_not_restore")) && !sabotaged("scopes_do_not_nest"));
}
EvalScope::EvalScope() : before_(exchange_mode(evaluating, true)) {}
EvalScope::~EvalScope() { exchange_mode(evaluating, before_ || sabotaged("evaluation_outlives_its_scope")); }
AnomalyScope::AnomalyScope() : before_(exchange_mode(checking_anomalies, true)) {}
AnomalyScope::~AnomalyScope() { exchange_mode(checking_anomalies, before_); }
bool training() { return !(modes() & evaluating); }

}  // namespace assay
