// Null runs: what a comparison's growth is judged by.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.hpp"

namespace assay {

/// Compares null runs with A over their common checkpoints and judges the growth from A to B by them (`judge`). Does
/// nothing when the pair was refused.
///
/// A null run is the experiment of A under the same numerics but for `model.perturbed` (one ULP) or for
/// `experiment.seed` (another seed). Errors: CMP-4 for any other run, naming all that differs; those of `compare_runs`.
///
///     Comparison comparison = compare_runs("runs/exact", "runs/fast", Policy{});
///     add_null_runs(comparison, {"runs/one_ulp", "runs/seed_2", "runs/seed_3"});
///     std::cout << comparison.growth.verdict;
void add_null_runs(Comparison& comparison, const std::vector<std::string>& folders);

}  // namespace assay
