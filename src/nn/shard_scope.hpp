// ShardScope: where the rows of a forward stand in the whole batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace assay {

/// While one exists, this thread's forwards are given rows `first_row` … of a batch that was cut into shards, so that a
/// layer that draws random numbers draws those of these rows (N6): shards, replicas and the whole batch get equal
/// masks.
///
/// `mask_digests`, where given, gathers the digest (N9) of every mask by stream name; those of shards add up to that of
/// the whole batch.
///
///     ShardScope shard(64);
///     Variable logits = model.forward(rows_from_64);
class ShardScope {
 public:
  explicit ShardScope(std::int64_t first_row, std::map<std::string, std::uint64_t>* mask_digests = nullptr);
  ~ShardScope();
  ShardScope(const ShardScope&) = delete;
  ShardScope& operator=(const ShardScope&) = delete;

  /// The innermost of this thread, or null.
  static const ShardScope* current();

  std::int64_t first_row() const { return first_row_; }
  std::map<std::string, std::uint64_t>* mask_digests() const { return mask_digests_; }

 private:
  std::int64_t first_row_;
  std::map<std::string, std::uint64_t>* mask_digests_;
  const ShardScope* outer_;
};

}  // namespace assay
