// Stochastic gradient descent with momentum.
#pragma once

#include "optim/optimiser.hpp"

namespace assay {

namespace kernels {
struct SgdUpdate;
}

struct SgdOptions {
  double momentum = 0;       ///< μ, in [0, 1)
  bool nesterov = false;     ///< needs μ > 0
  double weight_decay = 0;   ///< λ ≥ 0, added times the weight to the gradient
  double rate_factor = 1;    ///< ≥ 0, what the step's learning rate is multiplied by
  bool skip_frozen = false;  ///< frozen parameters stay as they are, with their state; else they are refused
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
  void look(const Step& step) const override;
  void update(const Step& step) const override;
  std::vector<double> beta_powers(std::uint64_t) const override { return {}; }

  std::vector<kernels::SgdUpdate> updates_of(const Step& step) const;

  std::vector<SgdOptions> options_;  // by group
};

}  // namespace assay
