// Running an experiment: from a configuration, or again from the folder of an earlier run.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

/// What `assay run` was asked for.
struct RunRequest {
  std::string source;                       ///< an experiment file, or the folder of a run
  std::vector<std::string> overrides = {};  ///< "key=value", the last one of a key winning
  std::string out = {};                     ///< folder of the new run; empty: the next free runs/NNNN
  bool resume = false;                      ///< go on with the run in `out`, or in the folder that `source` names
  std::string command_line = {};            ///< kept in the run's provenance
};

struct RunOutcome {
  std::string folder;
  std::string status;  ///< "complete" or "interrupted"
  std::uint64_t steps = 0;
  double test_loss = 0, test_accuracy = 0;  ///< when complete
  std::string parameters_digest = {};
  std::optional<std::string> repeats = {};  ///< of a repeated run: the folder that it repeats
  std::string numerics = {};                ///< "exact" or "fast"
  std::uint64_t peak_bytes = 0;             ///< the most that values on the device took
};

/// Trains as the configuration says and writes the run folder as reference/formats/run.md describes it, with progress
/// on stderr. An interrupt (SIGINT, SIGTERM) ends the run after the current step, with a checkpoint.
///
/// With a run folder as source its own configuration is run again into `out`, so that the two can be compared. With
/// `resume` the newest checkpoint that verifies is loaded and the run's files are cut back to its step; without a
/// checkpoint it starts over. A resumed run has the bits of one that was never interrupted, on any number of threads.
///
/// Errors: RUN-1 for the configuration, RUN-3 for the data, also when they are not those of the run that is repeated or
/// resumed, FILE-7 when `out` holds a run and `resume` is not set, FILE-2, FILE-3 and FILE-6 for files, CMP-4 when a
/// resume's configuration is not that of the run's checkpoint.
///
///     RunOutcome outcome = run_experiment({.source = "experiments/fashion_mnist/smoke.toml", .out = "runs/first"});
RunOutcome run_experiment(const RunRequest& request);

}  // namespace assay
