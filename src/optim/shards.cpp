// Accumulation over the shards of a batch.
#include "optim/shards.hpp"

#include <string>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/add.hpp"

namespace assay {
namespace {

void require_same_layout(const Tensor& expected, const Tensor& found, const std::string& what) {
  if (!(expected.shape() == found.shape()) || !(expected.device() == found.device()))
    throw Error("NUM-11", "sum over shards, " + what,
                to_string(expected.shape()) + " on " + to_string(expected.device()),
                to_string(found.shape()) + " on " + to_string(found.device()));
}

}  // namespace

ShardRows rows_of_shard(std::int64_t rows, std::int64_t shards, std::int64_t shard) {
  return {shard * rows / shards, (shard + 1) * rows / shards};
}

ShardSum::ShardSum(std::int64_t shards) : shards_(shards) {
  if (shards < 1 || (shards & (shards - 1)) != 0)
    throw Error("NUM-11", "number of shards", "a power of two", std::to_string(shards));
}

void ShardSum::add(ShardResult result) {
  if (added_ == shards_) throw Error("NUM-11", "sum over shards", std::to_string(shards_) + " results", "one more");
  if (!subtrees_.empty()) {
    const ShardResult& before = subtrees_[0].result;
    if (before.gradients.size() != result.gradients.size())
      throw Error("NUM-11", "sum over shards", std::to_string(before.gradients.size()) + " gradients",
                  std::to_string(result.gradients.size()));
    require_same_layout(before.loss, result.loss, "loss");
    for (std::size_t i = 0; i < result.gradients.size(); ++i)
      require_same_layout(before.gradients[i], result.gradients[i], "gradient " + std::to_string(i));
  }
  Subtree merged{1, std::move(result)};
  for (; !subtrees_.empty() && (subtrees_.back().shards == merged.shards || sabotaged("shards_added_in_a_row"));
       subtrees_.pop_back()) {
    const ShardResult& left = subtrees_.back().result;
    merged.shards *= 2;
    merged.result.loss = kernels::add(left.loss, merged.result.loss);
    for (std::size_t i = 0; i < left.gradients.size(); ++i)
      merged.result.gradients[i] = kernels::add(left.gradients[i], merged.result.gradients[i]);
  }
  subtrees_.push_back(std::move(merged));
  ++added_;
}

ShardResult ShardSum::total() const {
  if (added_ != shards_)
    throw Error("NUM-11", "sum over shards", std::to_string(shards_) + " results", std::to_string(added_));
  return subtrees_[0].result;
}

}  // namespace assay
