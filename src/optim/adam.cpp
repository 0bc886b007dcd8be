// Adam and AdamW.
#include "optim/adam.hpp"

#include "kernels/adam.hpp"

namespace assay {
namespace {

kernels::AdamStep step_of(const AdamOptions& o, double learning_rate, std::uint64_t step) {
  return {learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decoupled, step};
}

}  // namespace

Adam::Adam(ParameterList parameters, const AdamOptions& options)
    : Optimiser(options.decoupled ? "adamw" : "adam", std::move(parameters),
                {{"first_moment", false}, {"second_moment", true}}),
      options_(options) {
  require_decay("beta1", options.beta1);
  require_decay("beta2", options.beta2);
  auto epsilon = static_cast<float>(options.epsilon);
  require(epsilon > 0 && epsilon - epsilon == 0, "epsilon", "a finite number above 0 in binary32", options.epsilon);
  require_weight_decay(options.weight_decay);
}

bool Adam::is_finite(const Update& u) const {
  return kernels::adam_is_finite(u.value, u.state[0], u.state[1], u.gradient,
                                 step_of(options_, u.learning_rate, u.step));
}

void Adam::apply(const Update& u) const {
  kernels::adam(u.value, u.state[0], u.state[1], u.gradient, step_of(options_, u.learning_rate, u.step));
}

}  // namespace assay
