// The data order of a run.
#include "data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "numerics/philox.hpp"

namespace assay {

Sampler::Sampler(std::uint64_t key, std::int64_t samples, std::int64_t batch)
    : key_(key), samples_(samples), batch_(batch) {
  if (samples < 1) throw Error("RUN-3", "sampler", "at least 1 sample", std::to_string(samples));
  if (batch < 1) throw Error("RUN-3", "sampler", "a batch of at least 1 sample", std::to_string(batch));
}

std::span<const std::int64_t> Sampler::batch(std::int64_t step) {
  if (step < 1) throw Error("RUN-3", "sampler", "a step of at least 1", std::to_string(step));
  const auto [epoch, position] = place(step);
  if (epoch != epoch_) {
    order_.resize(static_cast<std::size_t>(samples_));
    if (epoch_ < 0 || !sabotaged("an_epoch_shuffles_the_one_before")) std::iota(order_.begin(), order_.end(), 0);
    numerics::shuffle(order_.data(), order_.size(), key_, static_cast<std::uint64_t>(epoch));
    epoch_ = epoch;
  }
  const std::int64_t begin = position * batch_;
  return std::span(order_).subspan(static_cast<std::size_t>(begin),
                                   static_cast<std::size_t>(std::min(batch_, samples_ - begin)));
}

}  // namespace assay
