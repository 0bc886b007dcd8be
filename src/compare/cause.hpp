// Cause: which other way of computing an operation gives the bits of the other side.
#pragma once

#include <optional>
#include <string>

#include "compare/replay.hpp"

namespace assay {

/// A way of computing that reproduces recorded bits.
struct Cause {
  std::string text;  ///< "sums in 8 lanes", "stale operand: fc1.weight of step 11", …
  Array value;       ///< what the operation gives so
};

/// Computes the operation that gave `name` in the replayed step again, each time under another hypothesis, and returns
/// the first that gives a result with the digest `recorded`; everything before it in the step is as `exact` has it.
/// reference/hypotheses.md lists them.
///
///     if (auto cause = find_cause(replay, exact, "forward/fc1/linear", digest)) std::cout << cause->text;
std::optional<Cause> find_cause(const Replay& replay, const ReplayedStep& exact, const std::string& name,
                                std::uint64_t recorded);

}  // namespace assay
