// The rows of the cache and the turns of its transaction.
#include "models/kv_cache.hpp"

#include "base/error.hpp"
#include "kernels/copy.hpp"

namespace assay {

KvCache::KvCache(std::int64_t blocks, const Shape& rows, Device device) {
  if (blocks < 1 || rows.rank() != 3 || rows.size() < 1)
    throw Error("KV-3", "KvCache", "1 block or more of rows [B, context, C], none of them 0",
                std::to_string(blocks) + " blocks of " + to_string(rows));
  for (std::int64_t i = 0; i < blocks; ++i) {
    rows_.push_back({Tensor::uninitialised(rows, device), Tensor::uninitialised(rows, device)});
    if (sabotaged("cache_dies_with_its_pass")) continue;
    rows_.back().keys.keep();
    rows_.back().values.keep();
  }
}

void KvCache::begin(std::int64_t tokens) {
  if (tokens < 1) throw Error("KV-1", "KvCache::begin", "1 token or more", std::to_string(tokens));
  if (tokens_ > 0)
    throw Error("KV-1", "KvCache::begin", "the " + std::to_string(tokens_) + " tokens of before committed or aborted",
                "a transaction that is open");
  const std::int64_t room = shape()[1] - length_;
  if (tokens > room)
    throw Error("KV-4", "KvCache::begin",
                "at most " + std::to_string(room) + " more tokens in a context of " + std::to_string(shape()[1]) +
                    " (behind it the cropped window is computed again)",
                std::to_string(tokens));
  tokens_ = tokens;
  appended_ = 0;
}

KvCache::Rows KvCache::append(const Tensor& keys, const Tensor& values) {
  if (tokens_ == 0 || appended_ == rows_.size())
    throw Error("KV-1", "KvCache::append", "a call for each of " + std::to_string(blocks()) + " blocks behind begin",
                tokens_ == 0 ? "none begun" : "one more");
  const Rows& all = rows_[appended_];
  const Shape expected = shape().with(1, tokens_);
  for (const Tensor* x : {&keys, &values})
    if (!(x->shape() == expected) || !(x->device() == device()))
      throw Error("KV-1", "KvCache::append", to_string(expected) + " on " + to_string(device()),
                  to_string(x->shape()) + " on " + to_string(x->device()));
  const std::int64_t end = length_ + tokens_;
  kernels::copy_into(keys, all.keys.slice(1, length_, end));
  kernels::copy_into(values, all.values.slice(1, length_, end));
  ++appended_;
  return {all.keys.slice(1, 0, end), all.values.slice(1, 0, end)};
}

void KvCache::commit() {
  if (tokens_ == 0 || appended_ < rows_.size())
    throw Error("KV-1", "KvCache::commit", "rows of all " + std::to_string(blocks()) + " blocks",
                tokens_ == 0 ? "none begun" : std::to_string(appended_));
  length_ += tokens_;
  tokens_ = 0;
}

}  // namespace assay
