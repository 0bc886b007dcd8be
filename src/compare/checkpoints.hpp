// The differences between two checkpoints of the same step.
#pragma once

#include <optional>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "compare/comparison.hpp"

namespace assay {

/// Parameters, then optimiser tensors, in the order of the file.
/// Errors: CMP-4 when the two hold other tensors, naming the first one.
std::vector<NamedDifference> compare_tensors(const Checkpoint& a, const Checkpoint& b, const Policy& policy);

/// The first entry of the state beside the tensors that is not the same: optimiser scalars, random streams, position in
/// the training. Device, configuration and the counters of writes are no part of the state.
std::optional<Divergence> state_difference(const Checkpoint& a, const Checkpoint& b);

}  // namespace assay
