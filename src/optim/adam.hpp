// Adam and AdamW.
#pragma once

#include "optim/optimiser.hpp"

namespace assay {

namespace kernels {
struct AdamUpdate;
}

struct AdamOptions {
  double beta1 = 0.9;        ///< in [0, 1)
  double beta2 = 0.999;      ///< in [0, 1)
  double epsilon = 1e-8;     ///< ε > 0, added to the bias-corrected √v
  double weight_decay = 0;   ///< λ ≥ 0
  bool decoupled = false;    ///< AdamW: shrink the weight by λ; else λ times the weight is added to the gradient
  double rate_factor = 1;    ///< ≥ 0, what the step's learning rate is multiplied by
  bool skip_frozen = false;  ///< frozen parameters stay as they are, with their state; else they are refused
  std::int64_t page = 0;     ///< at most so many elements of a moment in one block of memory; 0: one block a parameter
};

/// For step t = 1, 2, …, learning rate η and gradient g:
///
///     decoupled:      w = w·(1 − η·λ)
///     not decoupled:  g = fma(λ, w, g)        (only if λ ≠ 0)
///     m = fma(β1, m, (1 − β1)·g)              (first moment, from +0)
///     v = fma(β2, v, ((1 − β2)·g)·g)          (second moment, from +0)
///     w = w − a·(m ÷ fma(√v, b, ε)),  a = η ÷ (1 − β1ᵗ),  b = 1 ÷ √(1 − β2ᵗ)
///
/// in binary32; 1 − β, 1 − η·λ, a and b are computed in binary64 (βᵗ by repeated squaring) and rounded once.
/// Sources: Kingma, Ba, "Adam: a method for stochastic optimization" (2015); Loshchilov, Hutter, "Decoupled weight
/// decay regularization" (2019). Errors: as Optimiser; OPT-2 for groups of which only some are decoupled.
///
/// A page holds whole rows of the first axis, at least one; its size never shows in the bits or in the state (OPT-8).
///
///     Adam adamw(model.parameters(), {.weight_decay = 0.01, .decoupled = true});
///     Adam grouped({{weights, {.weight_decay = 0.01, .decoupled = true}}, {biases, {.decoupled = true}}});
class Adam final : public Optimiser {
 public:
  explicit Adam(ParameterList parameters, const AdamOptions& options = {});
  explicit Adam(std::vector<ParameterGroup<AdamOptions>> groups);

 private:
  void look(const Step& step) const override;
  void update(const Step& step) const override;
  std::vector<double> beta_powers(std::uint64_t step) const override;

  std::vector<kernels::AdamUpdate> updates_of(const Step& step) const;

  std::vector<AdamOptions> options_;  // by group
};

}  // namespace assay
