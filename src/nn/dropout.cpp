// Dropout: the mask on the host, the selection on the device.
#include "nn/dropout.hpp"

#include "autograd/dropout.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/digest.hpp"
#include "nn/shard_scope.hpp"
#include "numerics/philox.hpp"

namespace assay {
namespace {

constexpr std::int64_t elements_per_task = 8192;

}  // namespace

Dropout::Dropout(double p, const Random& random) : p_(p) {
  if (!(p >= 0 && p < 1) && !sabotaged("dropout_takes_any_p"))
    throw Error("MODE-3", "Dropout", "p in [0, 1)", std::to_string(p));
  stream_ = random.stream();
}

Tensor Dropout::mask(const Shape& shape, Device device) const {
  if (!training() && sabotaged("evaluation_draws")) stream_->next_draw();
  if ((!training() && !sabotaged("dropout_drops_in_evaluation")) || p_ == 0) return {};
  const ShardScope* shard = ShardScope::current();
  const auto row =
      shape.rank() == 0 || shape[0] == 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(shape.size() / shape[0]);
  const Draw draw = stream_->next_draw(
      shard && !sabotaged("masks_from_row_0") ? static_cast<std::uint64_t>(shard->first_row()) * row : 0);
  float threshold = static_cast<float>(p_);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(shape.size()));
  parallel_for(shape.size(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
    std::uint8_t* kept = mask.data() + begin;
    const bool shifted = sabotaged("masks_of_each_device") && device == simulated;
    auto n = static_cast<std::uint64_t>(begin + shifted), count = static_cast<std::uint64_t>(end - begin);
    numerics::uniforms(stream_->key(), draw.first + n, count, draw.index,
                       [=](std::uint64_t i, float u) { kept[i] = u >= threshold; });
  });
  if (shard && shard->mask_digests() && !draw.replayed)
    (*shard->mask_digests())[stream_->name()] += kernels::digest(mask, draw.first);
  return Tensor::from(mask, shape, device);
}

Variable Dropout::forward(const Variable& x) const {
  ForwardScope scope(*this);
  const Tensor kept = mask(x.shape(), x.device());
  return kept.defined() ? dropout(x, kept, sabotaged("dropout_loses_the_mean") ? 0 : p_) : x;
}

}  // namespace assay
