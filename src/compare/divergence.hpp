// Divergence: where two runs part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// The first thing that the policy does not accept.
struct Divergence {
  std::uint64_t step = 0;
  std::string table;              ///< "ids", "masks", "loss", "gradients" …: reference/commands.md lists them
  std::string tensor;             ///< the column of the table; empty where the table is one value a step
  std::string a, b;               ///< digests of 16 digits, or numbers
  std::vector<std::string> also;  ///< the other columns of this table that differ at this step
  /// Where in the step: "data", "draws", "forward", "backward", "gradients", "update", "evaluation" or "state"; and for
  /// a result of the trace the module and the operation that computed it.
  std::string phase = {}, module = {}, operation = {};
};

}  // namespace assay
