// Replay: one step of a run, computed again here, with every result in sight.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/run_file.hpp"
#include "data/datasets.hpp"
#include "harness/training.hpp"

namespace assay {

/// A result of a replayed step, under its name in `Training::observe`.
struct ReplayedResult {
  std::string name;
  Array value;
  std::uint64_t digest = 0;
};

struct ReplayedStep {
  std::vector<ReplayedResult> results;  ///< in the order in which the step computed them
  StepRow row;

  /// Its place, or nothing.
  std::optional<std::size_t> find(const std::string& name) const;
};

/// One step of a run, from the state that the run had before it.
///
/// That state comes from the run's last checkpoint before, or from the initial values, by training on to the step, and
/// has the bits that the run recorded for it.
/// Errors: RUN-3 when the data are not here or are others; CMP-2 when this build does not get to the recorded state,
/// naming the step at which it leaves it; XFER-8 when a run of numerics fast had a device that is not here.
///
///     Replay replay("runs/0001", read_head("runs/0001"), 172);
///     ReplayedStep here = replay.compute(replay.exact(), replay.before());
class Replay {
 public:
  Replay(const std::string& folder, const RunHead& run, std::uint64_t step);

  std::uint64_t step() const { return step_; }
  /// Where training on began: the step of a checkpoint, 0 for the initial values.
  std::uint64_t began_at() const { return began_at_; }
  /// The state before the step; and, unless this is the first one, before the step before.
  const Checkpoint& before() const { return before_; }
  const std::optional<Checkpoint>& earlier() const { return earlier_; }

  /// The experiment as the run computed it, and as `exact` on the cpu does.
  const Configuration& as_run() const { return configuration_; }
  Configuration exact() const { return elsewhere("cpu", "exact"); }
  Configuration elsewhere(const std::string& device, const std::string& numerics) const;

  /// Told each result before the next is computed; may write into it, and ends the step by returning false.
  using Observer = std::function<bool(std::size_t index, const std::string& name, const Tensor& value)>;
  /// Computes the step from `state`. With an observer nothing is kept of it.
  ReplayedStep compute(const Configuration& configuration, const Checkpoint& state,
                       const Observer& observer = {}) const;
  /// The same replay on other data: each input is what `change` makes of it.
  Replay on_inputs(const std::function<double(double)>& change) const;

 private:
  Replay(const Replay& other, std::shared_ptr<Datasets> data);
  Training& training(const Configuration& configuration) const;

  Configuration configuration_;
  std::shared_ptr<Datasets> data_;
  std::uint64_t step_, began_at_ = 0;
  Checkpoint before_;
  std::optional<Checkpoint> earlier_;
  mutable std::map<std::string, std::unique_ptr<Training>> trainings_;  // by device and numerics
};

}  // namespace assay
