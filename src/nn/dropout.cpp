// Dropout: the mask on the host, the selection on the device.
#include "nn/dropout.hpp"

#include "autograd/dropout.hpp"
#include "base/error.hpp"
#include "nn/shard_scope.hpp"
#include "numerics/digest.hpp"
#include "numerics/philox.hpp"

namespace assay {

Dropout::Dropout(double p, const Random& random) : p_(p) {
  if (!(p >= 0 && p < 1)) throw Error("MODE-3", "Dropout", "p in [0, 1)", std::to_string(p));
  stream_ = random.stream();
}

Variable Dropout::forward(const Variable& x) const {
  if (!training() || p_ == 0) return x;
  const ShardScope* shard = ShardScope::current();
  std::uint64_t row =
      x.shape().rank() == 0 || x.shape()[0] == 0 ? 0 : static_cast<std::uint64_t>(x.shape().size() / x.shape()[0]);
  std::uint64_t first = shard ? static_cast<std::uint64_t>(shard->first_row()) * row : 0;
  std::uint64_t draw = stream_->next_draw();
  float threshold = static_cast<float>(p_);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(x.shape().size()));
  for (std::size_t n = 0; n < mask.size(); ++n)
    mask[n] = numerics::uniform(stream_->key(), first + n, draw) >= threshold;
  if (shard && shard->mask_digests())
    (*shard->mask_digests())[stream_->name()] += numerics::digest(mask.data(), mask.size(), first);
  return dropout(x, Tensor::from(mask, x.shape(), x.device()), p_);
}

}  // namespace assay
