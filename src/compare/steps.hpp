// The first difference between the rows of two runs.
#pragma once

#include <optional>

#include "compare/comparison.hpp"

namespace assay {

/// What the rows of two runs show.
struct StepDifferences {
  std::optional<Divergence> refused;  ///< the first step at which the policy refuses something
  std::optional<Divergence> bits;     ///< the first one with other bits
};

/// Reads the rows of both runs, of each a segment at a time, and compares the steps that both have. The columns that
/// are no tables go into `a.table` and `b.table`.
///
/// Of a step that differs the first table is named, in the order in which a step makes them: epoch, ids, masks, trace,
/// loss, gradients, gradient_norm, finite, learning_rate, optimiser, parameters. Columns are in the order of the
/// model's list (backward makes gradients from its end). Errors: those of `RunReader`, of A before those of B.
StepDifferences compare_steps(const std::string& folder_a, RunData& a, const std::string& folder_b, RunData& b,
                              const Policy& policy);

/// The first validation up to step `common` that is refused, or that only one of the runs has. Sets `compared` to the
/// number of validations that both have.
std::optional<Divergence> first_validation_difference(const RunData& a, const RunData& b, const Policy& policy,
                                                      std::uint64_t common, std::size_t& compared);

/// What the policy refuses in the results of two complete runs.
std::optional<Divergence> result_difference(const RunHead& a, const RunHead& b, const Policy& policy);

/// Whether the run computed in float64.
bool is_float64(const RunHead& run);

}  // namespace assay
