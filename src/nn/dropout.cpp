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

Variable Dropout::forward(const Variable& x) const {
  ForwardScope scope(*this);
  if (!training() && sabotaged("evaluation_draws")) stream_->next_draw();
  if ((!training() && !sabotaged("dropout_drops_in_evaluation")) || p_ == 0) return x;
  const ShardScope* shard = ShardScope::current();
  std::uint64_t row =
      x.shape().rank() == 0 || x.shape()[0] == 0 ? 0 : static_cast<std::uint64_t>(x.shape().size() / x.shape()[0]);
  const Draw draw = stream_->next_draw(
      shard && !sabotaged("masks_from_row_0") ? static_cast<std::uint64_t>(shard->first_row()) * row : 0);
  float threshold = static_cast<float>(p_);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(x.shape().size()));
  parallel_for(x.shape().size(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
    std::uint8_t* kept = mask.data() + begin;
    const bool shifted = sabotaged("masks_of_each_device") && x.device() == simulated;
    auto n = static_cast<std::uint64_t>(begin + shifted), count = static_cast<std::uint64_t>(end - begin);
    numerics::uniforms(stream_->key(), draw.first + n, count, draw.index,
                       [=](std::uint64_t i, float u) { kept[i] = u >= threshold; });
  });
  if (shard && shard->mask_digests() && !draw.replayed)
    (*shard->mask_digests())[stream_->name()] += kernels::digest(mask, draw.first);
  return dropout(x, Tensor::from(mask, x.shape(), x.device()), sabotaged("dropout_loses_the_mean") ? 0 : p_);
}

}  // namespace assay
