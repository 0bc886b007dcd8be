// Accumulation over the shards of a batch, in an order that does not depend on who computed them.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.hpp"

namespace assay {

/// The rows begin … end − 1 of a batch that shard `shard` holds: ⌊iB/S⌋ … ⌊(i+1)B/S⌋ − 1, perhaps none.
struct ShardRows {
  std::int64_t begin, end;
};
ShardRows rows_of_shard(std::int64_t rows, std::int64_t shards, std::int64_t shard);

/// What one shard contributes to a step: its loss and gradients, both divided by the count of the whole batch already.
struct ShardResult {
  Tensor loss;
  std::vector<Tensor> gradients;  ///< in the order of the parameter list
};

/// Adds the results of S shards as a perfect binary tree: ((r₀ + r₁) + (r₂ + r₃)) + …, merged like a binary counter, so
/// that at most log₂ S + 1 results are held. Micro-batches, replicas and ranks that each add a part of the tree get the
/// same bits (N5). A shard without rows takes part with +0.
///
///     ShardSum sum(shards);
///     for (std::int64_t i = 0; i < shards; ++i) sum.add(result_of(rows_of_shard(batch, shards, i)));
///     ShardResult total = sum.total();
class ShardSum {
 public:
  /// Errors: NUM-11 unless `shards` is a power of two.
  explicit ShardSum(std::int64_t shards);

  /// The result of the next shard, ascending. Its tensors must not be written afterwards.
  /// Errors: NUM-11 for one shard too many, or for tensors of another number, shape or device than the first shard's.
  void add(ShardResult result);
  /// The root of the tree. Errors: NUM-11 before the last shard was added.
  ShardResult total() const;

 private:
  struct Subtree {
    std::int64_t shards;
    ShardResult result;
  };
  std::int64_t shards_, added_ = 0;
  std::vector<Subtree> subtrees_;  // each at least twice as large as the next
};

}  // namespace assay
