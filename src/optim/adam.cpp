// Adam and AdamW.
#include "optim/adam.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/adam.hpp"

namespace assay {
namespace {

/// √(v̂ + ε) in the place of √v̂ + ε: for a saboteur.
void update_with_epsilon_inside(const std::vector<kernels::AdamUpdate>& updates) {
  for (const kernels::AdamUpdate& update : updates) {
    const numerics::AdamScalars s = kernels::rounded(update.step);
    const auto elements = [](const Tensor& x) {
      const auto values = x.read<float>();
      return std::vector<float>(values.begin(), values.end());
    };
    auto w = elements(update.w), m = elements(update.m[0]), v = elements(update.v[0]), g = elements(update.g);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const float keep = w[i] * s.keep;
      const numerics::AdamElement next = numerics::adam(w[i], m[i], v[i], g[i], s);
      m[i] = next.m;
      v[i] = next.v;
      w[i] = keep - s.rate * (m[i] / numerics::square_root(numerics::fma(v[i] * s.scale, s.scale, s.epsilon)));
    }
    Tensor(update.w).write(w);
    Tensor(update.m[0]).write(m);
    Tensor(update.v[0]).write(v);
  }
}

}  // namespace

Adam::Adam(ParameterList parameters, const AdamOptions& options)
    : Adam(std::vector<ParameterGroup<AdamOptions>>{{std::move(parameters), options}}) {}

Adam::Adam(std::vector<ParameterGroup<AdamOptions>> groups)
    : Optimiser(!groups.empty() && groups[0].options.decoupled ? "adamw" : "adam",
                [&] {
                  std::vector<Group> lists;
                  for (auto& group : groups)
                    lists.push_back({group.parameters, group.options.page, group.options.skip_frozen});
                  return lists;
                }(),
                {{"first_moment", false}, {"second_moment", true}}) {
  for (const auto& [parameters, options] : groups) {
    require_decay("beta1", options.beta1);
    require_decay("beta2", options.beta2);
    auto epsilon = static_cast<float>(options.epsilon);
    require(epsilon > 0 && epsilon - epsilon == 0, "epsilon", "a finite number above 0 in binary32", options.epsilon);
    require_factor("weight decay", options.weight_decay);
    require_factor("rate factor", options.rate_factor);
    if (options.decoupled != groups[0].options.decoupled)
      throw Error("OPT-2", "decoupled of " + kind(), "the same in every group", "both");
    options_.push_back(sabotaged("groups_share_settings") ? groups[0].options : options);
  }
}

std::vector<kernels::AdamUpdate> Adam::updates_of(const Step& step) const {
  std::vector<kernels::AdamUpdate> updates;
  for (const auto& [entry, group, state] : step.updates) {
    const AdamOptions& o = options_[group];
    const Parameter& parameter = *entry.parameter;
    updates.push_back({parameter.value(),
                       state[0],
                       state[1],
                       parameter.gradient(),
                       {step.learning_rate * o.rate_factor, o.beta1, o.beta2, o.epsilon, o.weight_decay,
                        o.decoupled && !sabotaged("adamw_decays_coupled"), step.number}});
  }
  return updates;
}

void Adam::look(const Step& step) const { kernels::adam_is_finite(updates_of(step), step.slots); }
void Adam::update(const Step& step) const {
  if (sabotaged("epsilon_inside_the_root")) return update_with_epsilon_inside(updates_of(step));
  kernels::adam(updates_of(step), step.slots);
}

std::vector<double> Adam::beta_powers(std::uint64_t step) const {
  std::vector<double> powers;
  for (const AdamOptions& options : options_)
    for (double beta : {options.beta1, options.beta2}) powers.push_back(numerics::power(beta, step));
  return powers;
}

}  // namespace assay
