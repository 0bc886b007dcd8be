// Looking for the newest or best checkpoint of a run.
#include "checkpoint/run_checkpoint.hpp"

#include <filesystem>
#include <utility>

#include "base/error.hpp"

namespace assay {

Checkpoint checkpoint_of(const std::string& source, const std::string& which) {
  if (!std::filesystem::is_directory(source)) return load_checkpoint(source);
  const std::string folder = source + "/checkpoints";
  LatestCheckpoint latest = latest_checkpoint(folder);
  if (!latest.checkpoint)
    throw Error("FILE-6", "run " + source, "a whole checkpoint in its folder checkpoints",
                latest.refused.empty() ? "none" : latest.refused.front().reason);
  if (which == "last") return std::move(*latest.checkpoint);
  const auto best = entry_of<std::uint64_t>(latest.checkpoint->train, "best_step");
  if (best == 0) throw Error("FILE-3", "run " + source, "a validation (data.validation), whose best is kept", "none");
  return load_checkpoint(checkpoint_path(folder, best));
}

}  // namespace assay
