// Null runs: what a comparison's growth is judged by.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.hpp"

namespace assay {

/// Compares null runs with A, of which `a` is all but the digests, over their common checkpoints and judges the growth
/// from A to B by them (`judge`).
///
/// A null run is the experiment of A under the same numerics but for `model.perturbed` (one ULP) or for
/// `experiment.seed` (another seed). Errors: CMP-4 for any other run, naming all that differs; those of `compare_runs`.
///
///     const CompareOptions options{.nulls = {"runs/one_ulp", "runs/seed_2", "runs/seed_3"}};
///     std::cout << compare_runs("runs/exact", "runs/fast", Policy{}, options).growth.verdict;
void add_null_runs(Comparison& comparison, const RunData& a, const std::vector<std::string>& folders);

}  // namespace assay
