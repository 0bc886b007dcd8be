// The first difference between the rows of two runs.
#pragma once

#include <optional>

#include "compare/comparison.hpp"

namespace assay {

/// The first of the steps 1 … `common` at which the policy refuses something, and there the first table in the order in
/// which a step makes them: epoch, ids, masks, loss, gradients, gradient_norm, finite, learning_rate, optimiser,
/// parameters. Columns are in the order of the model's list (backward makes gradients from its end).
std::optional<Divergence> first_step_difference(const RunData& a, const RunData& b, const Policy& policy,
                                                std::uint64_t common);

/// The first validation up to step `common` that is refused, or that only one of the runs has. Sets `compared` to the
/// number of validations that both have.
std::optional<Divergence> first_validation_difference(const RunData& a, const RunData& b, const Policy& policy,
                                                      std::uint64_t common, std::size_t& compared);

/// What the policy refuses in the results of two complete runs.
std::optional<Divergence> result_difference(const RunData& a, const RunData& b, const Policy& policy);

/// Whether the run computed in float64.
bool is_float64(const RunData& run);

}  // namespace assay
