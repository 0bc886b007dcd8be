// Stochastic gradient descent with momentum.
#include "optim/sgd.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/sgd.hpp"

namespace assay {
Sgd::Sgd(ParameterList parameters, const SgdOptions& options)
    : Sgd(std::vector<ParameterGroup<SgdOptions>>{{std::move(parameters), options}}) {}

Sgd::Sgd(std::vector<ParameterGroup<SgdOptions>> groups)
    : Optimiser("sgd",
                [&] {
                  std::vector<Group> lists;
                  for (auto& group : groups) lists.push_back({group.parameters, 0, group.options.skip_frozen});
                  return lists;
                }(),
                {{"velocity", false}}) {
  for (const auto& [parameters, options] : groups) {
    require_decay("momentum", options.momentum);
    require_factor("weight decay", options.weight_decay);
    require_factor("rate factor", options.rate_factor);
    if (options.nesterov && options.momentum == 0) throw Error("OPT-2", "nesterov of sgd", "a momentum above 0", "0");
    options_.push_back(sabotaged("groups_share_settings") ? groups[0].options : options);
  }
}

std::vector<kernels::SgdUpdate> Sgd::updates_of(const Step& step) const {
  std::vector<kernels::SgdUpdate> updates;
  for (const auto& [entry, group, state] : step.updates) {
    const SgdOptions& o = options_[group];
    const Parameter& parameter = *entry.parameter;
    updates.push_back({parameter.value(),
                       state[0][0],
                       parameter.gradient(),
                       {step.learning_rate * o.rate_factor, o.momentum, o.weight_decay, o.nesterov}});
  }
  return updates;
}

void Sgd::look(const Step& step) const { kernels::sgd_is_finite(updates_of(step), step.slots); }

void Sgd::update(const Step& step) const {
  kernels::sgd(updates_of(step), step.slots);
  if (sabotaged("update_twice")) kernels::sgd(updates_of(step), step.slots);
}

}  // namespace assay
