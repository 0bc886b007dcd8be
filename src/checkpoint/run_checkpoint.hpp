// The checkpoint that the user of a command means.
#pragma once

#include <string>

#include "checkpoint/checkpoint.hpp"

namespace assay {

/// Of a run its newest checkpoint that is whole, or with `which` "best" the one of its best validation; of a file the
/// one that it holds. Errors: FILE-6 and FILE-3 naming the run or file.
Checkpoint checkpoint_of(const std::string& source, const std::string& which = "last");

}  // namespace assay
