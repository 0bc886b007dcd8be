// Stochastic gradient descent with momentum.
#include "optim/sgd.hpp"

#include "base/error.hpp"
#include "kernels/sgd.hpp"

namespace assay {
namespace {

kernels::SgdStep step_of(const SgdOptions& options, double learning_rate) {
  return {learning_rate, options.momentum, options.weight_decay, options.nesterov};
}

}  // namespace

Sgd::Sgd(ParameterList parameters, const SgdOptions& options)
    : Optimiser("sgd", std::move(parameters), {{"velocity", false}}), options_(options) {
  require_decay("momentum", options.momentum);
  require_weight_decay(options.weight_decay);
  if (options.nesterov && options.momentum == 0) throw Error("OPT-2", "nesterov of sgd", "a momentum above 0", "0");
}

bool Sgd::is_finite(const Update& u) const {
  return kernels::sgd_is_finite(u.value, u.state[0], u.gradient, step_of(options_, u.learning_rate));
}

void Sgd::apply(const Update& u) const {
  kernels::sgd(u.value, u.state[0], u.gradient, step_of(options_, u.learning_rate));
}

}  // namespace assay
