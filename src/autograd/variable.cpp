// The graph behind variables: recording, the backward pass, and destruction without recursion.
#include "autograd/variable.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/counters.hpp"
#include "kernels/add.hpp"
#include "kernels/copy.hpp"

namespace assay {
namespace {

std::atomic<std::uint64_t> next_number{0};
thread_local bool recording = true;
thread_local bool training_now = true;

}  // namespace

struct Variable::State {
  // An operand as it was when the operation ran.
  struct Operand {
    Variable variable;
    Tensor value;
    std::uint64_t version;
    bool needed;
  };

  const char* operation = "leaf";
  std::uint64_t number = next_number++;
  Tensor value;
  std::uint64_t version = 0;
  bool requires_gradient = false;
  std::vector<Operand> operands;
  Vjp vjp;
  Tensor gradient;  // of a leaf; undefined while none is pending

  // A chain may be a million operations long: unlink it in a loop.
  ~State() {
    std::vector<std::shared_ptr<State>> last_held;
    auto release = [&](State& state) {
      for (Operand& operand : state.operands) {
        std::shared_ptr<State> held = std::move(operand.variable.state_);  // one operand may stand at two positions
        if (held.use_count() == 1) last_held.push_back(std::move(held));
      }
      state.operands.clear();
    };
    release(*this);
    while (!last_held.empty()) {
      std::shared_ptr<State> state = std::move(last_held.back());
      last_held.pop_back();
      release(*state);
    }
  }
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool is_leaf() const { return operands.empty(); }

  void require_unchanged(const Tensor& now, const Tensor& then, std::uint64_t version_then,
                         const std::string& what) const {
    if (!now.shares_storage_with(then))
      throw Error("GRAPH-5", "backward through " + std::string(operation), what + " as it was",
                  "another tensor in its place");
    if (now.version() != version_then)
      throw Error("GRAPH-5", "backward through " + std::string(operation),
                  what + " at version " + std::to_string(version_then), "version " + std::to_string(now.version()));
  }

  void require_unchanged() const {
    if (!is_leaf()) require_unchanged(value, value, version, "the result " + to_string(value.shape()));
    for (std::size_t position = 0; position < operands.size(); ++position)
      require_unchanged(operands[position].variable.state_->value, operands[position].value, operands[position].version,
                        "operand " + std::to_string(position) + " " + to_string(operands[position].value.shape()));
  }

  void require_leaf(const char* call) const {
    if (!is_leaf() || !requires_gradient)
      throw Error("GRAPH-7", call, "a leaf that gathers a gradient",
                  is_leaf() ? "data" : "the result of " + std::string(operation));
  }
};

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
  if (!(gradient.shape() == shape()) || !(gradient.device() == device()))
    throw Error("GRAPH-1", "set_gradient", to_string(shape()) + " on " + to_string(device()),
                to_string(gradient.shape()) + " on " + to_string(gradient.device()));
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
  state_->gradient = {};
}

void Variable::backward() const {
  if (value().size() != 1) throw Error("GRAPH-1", "backward", "a value of one element, or a seed", to_string(shape()));
  backward(Tensor::full(shape(), 1, device()));
}

void Variable::backward(const Tensor& seed) const {
  if (!requires_gradient())
    throw Error("GRAPH-1", "backward", "a result that requires a gradient",
                "one that depends on no leaf that gathers one");
  if (!(seed.shape() == shape()) || !(seed.device() == device()))
    throw Error("GRAPH-1", "backward", "a seed " + to_string(shape()) + " on " + to_string(device()),
                to_string(seed.shape()) + " on " + to_string(seed.device()));

  // Everything that the pass will visit, and that nothing of it has changed.
  std::unordered_map<State*, Tensor> totals{{state_.get(), seed}};
  std::vector<State*> order{state_.get()};
  for (std::size_t next = 0; next < order.size(); ++next) {
    order[next]->require_unchanged();
    for (const State::Operand& operand : order[next]->operands) {
      State* input = operand.variable.state_.get();
      if (operand.needed && totals.try_emplace(input).second) order.push_back(input);
    }
  }
  std::sort(order.begin(), order.end(), [](const State* a, const State* b) { return a->number > b->number; });

  std::vector<std::pair<State*, Tensor>> leaves;
  for (State* node : order) {
    Tensor total = std::move(totals[node]);
    if (node->is_leaf()) {
      leaves.emplace_back(node, std::move(total));
      continue;
    }
    std::vector<bool> needed;
    for (const State::Operand& operand : node->operands) needed.push_back(operand.needed);
    std::vector<Tensor> contributions = node->vjp(total, needed);
    if (contributions.size() != node->operands.size())
      throw Error("VJP-2", "gradient of " + std::string(node->operation),
                  std::to_string(node->operands.size()) + " tensors", std::to_string(contributions.size()));
    for (std::size_t position = 0; position < contributions.size(); ++position) {
      if (!needed[position]) continue;
      const Tensor& value = node->operands[position].value;
      const Tensor& contribution = contributions[position];
      if (!contribution.defined() || !(contribution.shape() == value.shape()) ||
          !(contribution.device() == value.device()))
        throw Error("VJP-2", "gradient of " + std::string(node->operation) + " at position " + std::to_string(position),
                    to_string(value.shape()) + " on " + to_string(value.device()),
                    contribution.defined() ? to_string(contribution.shape()) + " on " + to_string(contribution.device())
                                           : "none");
    }
    for (std::size_t position = 0; position < contributions.size(); ++position) {
      if (!needed[position]) continue;
      Tensor& sum = totals[node->operands[position].variable.state_.get()];
      if (sum.defined() && !sabotaged("gradient_once_per_reference"))
        sum = kernels::add(sum, contributions[position]);
      else
        sum = std::move(contributions[position]);
    }
  }

  for (auto& [leaf, total] : leaves) {
    if (leaf->gradient.defined() && !sabotaged("accumulation_forgets"))
      total = kernels::add(leaf->gradient, total);
    else if (!total.owns_storage_alone() || !total.contiguous())
      total = kernels::copy(total);  // two leaves, or a leaf and the caller's seed, must not share one gradient
    if (!sabotaged("gradient_dies_with_its_pass")) total.keep();
  }
  for (auto& [leaf, total] : leaves) leaf->gradient = std::move(total);
}

Variable custom_gradient(const char* operation, Tensor output, const std::vector<Variable>& inputs, Vjp vjp) {
  if (!vjp || inputs.empty())
    throw Error("VJP-5", operation, "a gradient rule and at least one input", vjp ? "no inputs" : "no rule");
  device_log::access(Access::node, {"", 0, operation});
  if (sabotaged("producer_counts_twice")) device_log::access(Access::node, {"", 0, operation});
  Variable result(std::move(output));
  bool differentiable =
      std::any_of(inputs.begin(), inputs.end(), [](const Variable& v) { return v.requires_gradient(); });
  if (!recording || !differentiable) return result;
  Variable::State& state = *result.state_;
  state.operation = operation;
  state.requires_gradient = true;
  state.vjp = std::move(vjp);
  for (const Variable& input : inputs)
    state.operands.push_back({input, input.value(), input.value().version(), input.requires_gradient()});
  return result;
}

NoGradScope::NoGradScope() : before_(std::exchange(recording, false)) {}
NoGradScope::~NoGradScope() { recording = before_; }
EvalScope::EvalScope() : before_(std::exchange(training_now, false)) {}
EvalScope::~EvalScope() { training_now = before_; }
bool training() { return training_now; }

}  // namespace assay
