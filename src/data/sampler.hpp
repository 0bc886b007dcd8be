// Sampler: which samples each step trains on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// The data order of a run: a function of (key, epoch, position) and of nothing that happened before.
///
/// An epoch visits every sample once, in the order of N6's shuffle with the epoch as draw index; the last batch of an
/// epoch holds what is left. Steps count from 1, epochs and positions (batches within an epoch) from 0.
///
///     Sampler sampler(stream_key(seed, "data.order"), 55000, 64);
///     for (std::int64_t step = 1; step <= 3 * sampler.steps_per_epoch(); ++step) train_on(sampler.batch(step));
class Sampler {
 public:
  struct Place {
    std::int64_t epoch, position;
  };

  /// Errors: RUN-3 when `samples` or `batch` is below 1.
  Sampler(std::uint64_t key, std::int64_t samples, std::int64_t batch);

  std::int64_t steps_per_epoch() const { return (samples_ - 1) / batch_ + 1; }
  Place place(std::int64_t step) const { return {(step - 1) / steps_per_epoch(), (step - 1) % steps_per_epoch()}; }

  /// The ids of one step's batch, valid until the next call. Errors: RUN-3 when `step` is below 1.
  std::span<const std::int64_t> batch(std::int64_t step);

 private:
  std::uint64_t key_;
  std::int64_t samples_, batch_;
  std::int64_t epoch_ = -1;  ///< whose order is in `order_`
  std::vector<std::int64_t> order_;
};

}  // namespace assay
