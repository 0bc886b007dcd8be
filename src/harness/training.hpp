// Training: a model, its optimiser and its data order, one step at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/run_table.hpp"
#include "data/datasets.hpp"
#include "data/sampler.hpp"
#include "device/profile.hpp"
#include "harness/configuration.hpp"
#include "harness/model.hpp"
#include "harness/step_trace.hpp"
#include "optim/optimiser.hpp"
#include "optim/schedule.hpp"
#include "optim/shards.hpp"

namespace assay {

struct Evaluation {
  double loss = 0, accuracy = 0;
};

/// What a configuration describes, its profile included, ready to train. Its state after a step is a function of the
/// configuration, the data and the number of the step; `checkpoint` holds all of it and `restore` brings it back
/// (FILE-1).
///
///     Training training(configuration, data);
///     while (training.step() < training.total_steps()) StepRow row = training.advance();
class Training {
 public:
  /// Errors: RUN-1 when the model does not fit the data; XFER-8 for the device; what the parts refuse.
  /// `data` must outlive the training.
  Training(const Configuration& configuration, const Datasets& data);

  const Configuration& configuration() const { return configuration_; }
  /// The columns of the digest tables; empty lists with `trace.level = "none"`. Those of the
  /// trace are in the row of a step.
  RunNames names() const;
  std::uint64_t step() const { return step_; }
  std::uint64_t total_steps() const;
  std::uint64_t steps_per_epoch() const { return static_cast<std::uint64_t>(sampler_.steps_per_epoch()); }
  /// What the optimiser updates: all parameters, or those of adapters alone.
  const ParameterList& parameters() const { return parameters_; }

  /// The next step. Everything that the host learns of it is one download from the device (ACC-10).
  /// Errors: OPT-3 or OPT-6 naming a parameter whose gradient or result is not finite, RES-6 for a device that fails;
  /// the training is then as it was before the step. (Only a device that fails between the update and the download
  /// leaves the step taken and its row lost; `step` tells.)
  StepRow advance();
  /// From now on every result of a step is told to `observer` by its name; one that is empty ends that. It is also told
  /// gradients as the optimiser gets them and what the update leaves: "gradients/fc1.weight/table", "optimiser/…",
  /// "parameters/…".
  void observe(StepObserver observer) { observer_ = std::move(observer); }
  /// Mean loss and share of right answers over the labels of a set, in evaluation mode.
  Evaluation evaluate(const Dataset& set) const;

  /// Everything that the next step reads.
  Checkpoint checkpoint() const;
  /// Errors: FILE-3 naming the parameter, stream or value that does not fit, OPT-7, RES-6; nothing has changed then.
  void restore(const Checkpoint& checkpoint);
  std::string parameters_digest() const { return digest_of(parameters_); }

 private:
  Variable loss_of(const Variable& logits, std::span<const std::int32_t> labels, std::int64_t count) const;
  Tensor samples(const Batch& batch, std::int64_t begin, std::int64_t end) const;
  ShardResult gradients_of(const Batch& batch, const std::vector<std::uint64_t>& draws, StepTrace& trace, StepRow& row);
  void set_draws(const std::vector<std::uint64_t>& draws);
  std::map<std::string, std::string> aliases() const;
  std::map<std::string, std::uint64_t> place_after(std::uint64_t step) const;

  Configuration configuration_;
  const Datasets& data_;
  Device device_;
  Profile profile_;
  Random random_;
  ConfiguredModel model_;
  ParameterList parameters_;
  std::unique_ptr<Optimiser> optimiser_;
  TraceLevel trace_level_;
  std::size_t traced_ = 0;  // digests of the last step's trace
  StepObserver observer_;
  Sampler sampler_;
  Schedule schedule_;
  std::uint64_t step_ = 0;
};

}  // namespace assay
