// KvCache: the keys and values of the positions that a decoder has seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/tensor.hpp"

namespace assay {

/// For each block of a decoder keys and values [B, context, C], of which the first `length` positions count.
///
/// New positions are one transaction: `begin`, `append` once for each block in order, `commit`. Before the commit
/// nothing counts: `abort`, and any failure of the device or of a check, leaves `length` and the rows before it as they
/// were, and the same positions can be begun again (KV-1). `reset` makes the cache empty. Both keep the memory, which
/// is allocated once, outlives the pass that it was made in, and is given back with the cache (KV-3).
///
/// Errors: KV-1 for a call out of turn or rows of another shape or device; KV-3 for extents below 1 and a device
/// without memory (RES-6); KV-4 for more positions than there is room for: positions are learned, so the window has to
/// be computed again (`Decoding`). Weights that change, and a model that moves, need a new cache or a reset.
///
///     KvCache cache(model.options().blocks, {1, 64, 128}, cpu);
///     Tensor logits = model.forward(prompt, cache);  // [1, T] → [1, T, V]; cache.length() is T
class KvCache {
 public:
  /// The rows of one block up to the newest position: views [B, length, C] of the cache.
  struct Rows {
    Tensor keys, values;
  };

  KvCache(std::int64_t blocks, const Shape& rows, Device device);
  KvCache(KvCache&&) = default;
  KvCache& operator=(KvCache&&) = default;

  std::int64_t blocks() const { return static_cast<std::int64_t>(rows_.size()); }
  /// Of keys and of values of one block: [B, context, C].
  const Shape& shape() const { return rows_.front().keys.shape(); }
  Device device() const { return rows_.front().keys.device(); }
  /// Positions that are committed.
  std::int64_t length() const { return length_; }

  /// So many new positions come behind the committed ones.
  void begin(std::int64_t tokens);
  /// The keys and values [B, tokens, C] of the next block. Gives those of all positions, the new ones included.
  Rows append(const Tensor& keys, const Tensor& values);
  void commit();
  void abort() noexcept {
    if (sabotaged("aborted_rows_count")) length_ += tokens_;
    tokens_ = 0;
  }
  void reset() noexcept { length_ = tokens_ = 0; }

 private:
  std::vector<Rows> rows_;  // whole: [B, context, C]
  std::int64_t length_ = 0;
  std::int64_t tokens_ = 0;   // begun; 0: none
  std::size_t appended_ = 0;  // blocks
};

}  // namespace assay
