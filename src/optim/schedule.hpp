// Schedule: the learning rate of each step.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

/// Rates are shares of `learning_rate` except that one itself; which kind reads what is said at Schedule.
struct ScheduleOptions {
  std::string kind = "constant";
  double learning_rate = 0.001;  ///< the largest rate
  std::uint64_t steps = 1;       ///< length of the run
  std::uint64_t period = 0;      ///< in steps; 0: the whole run
  double factor = 0.1;
  double warmup = 0.3;  ///< share of the run in which the rate rises, in [0, 1)
  double start = 0.04;  ///< first rate
  double minimum = 0;   ///< lowest or last rate
};

/// The learning rate η(s) of step s = 0, 1, … in binary64, a pure function of the options, without libm (N4). With
/// H = `learning_rate`, F = start·H, L = minimum·H, N = `steps`, T = `period`, p = s mod T, P = ⌊warmup·(N − 1)⌋:
///
/// - `constant`: H.
/// - `step`: H·factor^⌊s ÷ T⌋.
/// - `cosine`: falls from H at p = 0 to L at p = T − 1, then restarts.
/// - `one_cycle`: rises from F at s = 0 to H at s = P, falls to L at s = N − 1 and stays there.
/// - `warmup_cosine`: the same with a straight rise.
/// - `cyclic`: straight from L at p = 0 to H at p = ⌊T ÷ 2⌋ and back to L at the next p = 0.
///
/// Guarantee: the rates named here are hit exactly (OPT-9); where two fall on one step (P = 0, T = 1) it is H.
/// Curves go from A to B as A·c + B·(1 − c), with c = 1 − x on a straight and c = (1 + cos πx) ÷ 2 on a curved one, x
/// the share of the way. Errors: OPT-9 naming the option that is outside its range.
/// Sources: Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts" (2017); Smith, Topin,
/// "Super-convergence" (2018); Smith, "Cyclical learning rates for training neural networks" (2017).
///
///     Schedule schedule({.kind = "one_cycle", .learning_rate = 0.002, .steps = 1720});
///     schedule.learning_rate(1719);  // the last one: 0
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options);
  double learning_rate(std::uint64_t step) const;

 private:
  ScheduleOptions options_;
};

}  // namespace assay
