// Referee: which of two results of an operation is further from the truth than its rounding allows.
#pragma once

#include <string>

#include "compare/replay.hpp"

namespace assay {

/// What float64 says of one result: the element that is worst, by the bound.
struct Judged {
  bool known = false;   ///< whether the values of that side are at hand
  double ulps = 0;      ///< the largest distance from the float64 result, in float32 ULPs of it
  double of_bound = 0;  ///< the largest distance as a share of the bound; above 1: more than rounding explains
  bool within() const { return of_bound <= 1; }
};

struct Referee {
  Judged a, b;
  std::string bound;    ///< what the bound is, in words
  std::string verdict;  ///< who is outside of the bound: "A", "B", "both within bound", "both outside", "unknown"
};

/// Computes the operation that gave `name` on the device `reference` in float64, from the operands that the step had on
/// both sides, and judges both results by the operation's own rounding bound.
///
/// - Sums (products, linear maps, sums of gradients): (n + 1)·u·Σ|terms| of each element, n the number of its terms.
/// - All else: (n + 16)·u·(|y| + largest |y|), n the length of the rows that it works on. That is coarse: it tells
///   rounding from a mistake, not a good rounding from a better one.
///
/// u is 2⁻²⁴. Source of the first: N. J. Higham, "Accuracy and Stability of Numerical Algorithms" (2002), 3.1.
///
///     Referee referee = judge(replay, exact, "forward/fc1/linear", values_a, values_b);
Referee judge(const Replay& replay, const ReplayedStep& exact, const std::string& name, const Array* a, const Array* b);

}  // namespace assay
