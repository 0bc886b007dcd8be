// The backward pass.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "autograd/graph.hpp"
#include "autograd/trace.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/add.hpp"
#include "kernels/copy.hpp"

namespace assay {
namespace {

using State = Variable::State;

/// One pass over a graph. What it computes stays in it until `commit`, so a failure changes nothing (GRAPH-3).
class Pass {
 public:
  /// Sends `upstream`, the gradient by the root, through everything below it that the pass has not met yet. Variables
  /// that it has met, as the dependencies of a segment whose replay this is, only get their contributions, one by one:
  /// the replayed operations take the place that they have in the plain graph, where no other operation of the pass
  /// stands between them.
  void walk(const Variable& root, Tensor upstream);
  void commit();

 private:
  void differentiate(State& node, const Tensor& upstream);

  std::unordered_map<State*, Tensor> totals_;  // only looked up
  std::vector<std::pair<State*, Tensor>> leaves_;
};

void Pass::walk(const Variable& root, Tensor upstream) {
  std::vector<State*> order{&State::of(root)};
  totals_[order[0]] = std::move(upstream);
  for (std::size_t next = 0; next < order.size(); ++next) {
    if (!sabotaged("changed_operands_are_used")) order[next]->require_unchanged();
    for (const State::Operand& operand : order[next]->operands) {
      State* input = &State::of(operand.variable);
      if (operand.needed && totals_.try_emplace(input).second) order.push_back(input);
    }
  }
  if (!sabotaged("consumers_in_order_of_use"))
    std::sort(order.begin(), order.end(), [](const State* a, const State* b) { return a->number > b->number; });

  for (State* node : order) {
    Tensor total = std::move(totals_.extract(node).mapped());
    if (!total.defined() && sabotaged("unreached_leaf_gets_zeros"))
      total = Tensor::zeros(node->value.shape(), node->value.device());
    if (!total.defined()) continue;  // a dependency of a segment whose result does not depend on it
    if (node->is_leaf()) {
      if (sabotaged("gradients_before_success")) node->gradient = total;
      leaves_.emplace_back(node, std::move(total));
    } else if (node->replay) {
      std::vector<Variable> dependencies;
      for (std::size_t i = 0; i < node->dependencies; ++i) dependencies.push_back(node->operands[i].variable);
      if (sabotaged("segment_is_replayed_twice")) node->replay(dependencies, node->value);
      walk(node->replay(dependencies, node->value), std::move(total));  // as deep as segments stand in segments
    } else {
      differentiate(*node, total);
    }
  }
}

void Pass::differentiate(State& node, const Tensor& upstream) {
  auto at = [&](std::size_t position) {
    return "gradient of " + std::string(node.operation) + " at position " + std::to_string(position);
  };
  std::vector<bool> needed;
  for (const State::Operand& operand : node.operands)
    needed.push_back(operand.needed || sabotaged("data_costs_a_gradient"));
  std::vector<Tensor> contributions = node.vjp(upstream, needed);
  if (sabotaged("rule_gives_any_count")) contributions.resize(needed.size());
  if (sabotaged("positions_exchanged")) std::reverse(contributions.begin(), contributions.end());
  if (contributions.size() != needed.size())
    throw Error("VJP-2", "gradient of " + std::string(node.operation), std::to_string(needed.size()) + " tensors",
                std::to_string(contributions.size()));
  for (std::size_t position = 0; position < contributions.size(); ++position) {
    if (!needed[position]) continue;
    const Tensor &value = node.operands[position].value, &contribution = contributions[position];
    if (!contribution.defined() || (!alike(contribution, value) && !sabotaged("rule_gives_any_kind")))
      throw Error("VJP-2", at(position), kind_of(value), contribution.defined() ? kind_of(contribution) : "none");
    if ((modes() & checking_anomalies) && !sabotaged("anomaly_check_forgets_backward"))
      require_finite(at(position), contribution);
    TraceScope::tell({"backward", node.module, node.operation, static_cast<int>(position), contribution});
  }
  for (std::size_t position = 0; position < contributions.size(); ++position) {
    if (!needed[position]) continue;
    Tensor& sum = totals_[&State::of(node.operands[position].variable)];
    if (!sum.defined() && sabotaged("first_contribution_is_added_to_0"))
      sum = Tensor::zeros(contributions[position].shape(), contributions[position].device());
    if (sum.defined() && !sabotaged("gradient_once_per_reference")) {
      sum = kernels::add(sum, contributions[position]);
      TraceScope::tell({"backward", node.module, "accumulate", static_cast<int>(position), sum});
    } else {
      sum = std::move(contributions[position]);
    }
  }
}

void Pass::commit() {
  for (auto& [leaf, total] : leaves_) {
    if (leaf->gradient.defined() && !sabotaged("accumulation_forgets"))
      total = kernels::add(leaf->gradient, total);
    else if ((!total.owns_storage_alone() || !total.contiguous()) && !sabotaged("gradients_share_memory"))
      total = kernels::copy(total);  // two leaves, or a leaf and the caller's seed, must not share one gradient
    if (!sabotaged("gradient_dies_with_its_pass")) total.keep();
  }
  for (auto& [leaf, total] : leaves_) leaf->gradient = std::move(total);
}

}  // namespace

void Variable::backward() const {
  if (value().size() != 1) throw Error("GRAPH-1", "backward", "a value of one element, or a seed", to_string(shape()));
  backward(Tensor::full(shape(), sabotaged("scalar_seeds_2") ? 2 : 1, device()));
}

void Variable::backward(const Tensor& seed) const {
  if (!requires_gradient())
    throw Error("GRAPH-1", "backward", "a result that requires a gradient",
                "one that depends on no leaf that gathers one");
  if (!alike(seed, value()) && !sabotaged("seed_of_any_kind"))
    throw Error("GRAPH-1", "backward", "a seed " + kind_of(value()), kind_of(seed));
  Pass pass;
  pass.walk(*this, seed);
  pass.commit();
}

}  // namespace assay
