// Stochastic gradient descent with momentum.
#pragma once

#include "optim/optimiser.hpp"

namespace assay {

struct SgdOptions {
  double momentum = 0;      ///< μ, in [0, 1)
  bool nesterov = false;    ///< needs μ > 0
  double weight_decay = 0;  ///< λ ≥ 0, added times the weight to the gradient
  double rate_factor = 1;   ///< ≥ 0, what the step's learning rate is multiplied by
};

/// For learning rate η and gradient g, each scalar rounded once to binary32:
///
///     g = fma(λ, w, g)                        (only if λ ≠ 0)
///     u = fma(μ, u, g)                        (the velocity, from +0)
///     d = u, with Nesterov d = fma(μ, u, g)
///     w = w − η·d
///
/// The velocity is kept with μ = 0 too, where it is the last direction: one layout of the state for every setting.
/// Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in deep learning"
/// (2013), with η outside the velocity. Errors: as Optimiser.
///
///     Sgd optimiser(model.parameters(), {.momentum = 0.9, .nesterov = true});
class Sgd final : public Optimiser {
 public:
  explicit Sgd(ParameterList parameters, const SgdOptions& options = {});
  explicit Sgd(std::vector<ParameterGroup<SgdOptions>> groups);

 private:
  std::size_t apply(const std::vector<Update>& updates, double learning_rate, std::uint64_t step) const override;
  std::vector<double> beta_powers(std::uint64_t) const override { return {}; }

  std::vector<SgdOptions> options_;  // by group
};

}  // namespace assay
