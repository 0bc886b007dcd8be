// Pairs of large run folders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::benchmark {

/// Writes FOLDER/a and FOLDER/b, of `megabytes` each: "steps", mostly digests of steps, or "checkpoints", of 100 MB
/// each. They are the same but for the digests of the last step, or the last element of the last checkpoint; with
/// "steps_apart" and "checkpoints_apart" but for all from step 2 on, or all elements. False for another kind.
///
///     write_runs("steps", "/tmp/pair", 1000);
bool write_runs(std::string_view kind, const std::string& folder, std::uint64_t megabytes);

}  // namespace assay::benchmark
