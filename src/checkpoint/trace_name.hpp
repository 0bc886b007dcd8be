// TraceName: how a result of a step is named in files.
#pragma once

#include <string>

namespace assay {

/// "forward/fc1/linear" is what the operation linear of the module fc1 gave, "backward/fc1/linear:1" the gradient by
/// its operand 1. Of results of one name in a step the second is "…#2"; those of the second shard begin with
/// "shard.1/". A module may be a dotted path, or empty: "forward//cross_entropy".
struct TraceName {
  std::string phase, module, operation;
  int operand = -1;  ///< −1: none
  std::size_t shard = 0, occurrence = 1;

  std::string text() const;
  /// Errors: FILE-3 for a text that is no name.
  ///
  ///     TraceName::parse("backward/fc1/linear:1").operand;  // 1
  static TraceName parse(const std::string& text);
};

}  // namespace assay
