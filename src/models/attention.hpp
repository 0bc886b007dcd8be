// CausalSelfAttention: projections of one sequence, attention of several heads, and a projection of what they find.
#pragma once

#include "autograd/attention.hpp"
#include "models/kv_cache.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"

namespace assay {

/// y = output(attention(query(x), key(x), value(x))) with x and y [B, T, C], each position seeing itself and those
/// before it. Children "query", "key", "value" and "output", C → C, with biases and the initial values of `Linear`, and
/// "dropout", which drops weights with probability p while training: a mask [B, H, T, T].
///
/// The operation is `attention`, which states the formula; its two forms, `materialised` or not, have the same bits.
/// The gradient of key.bias is zero by algebra: it moves all scores of a query by as much (CHECK-2).
/// Errors: LAYER-3 for heads that do not divide the width, LAYER-1 for a width below 1, MODE-3 for p.
///
///     CausalSelfAttention attention(128, 4, 0.1, false, random["attention"]);
///     Variable y = attention.forward(x);  // [B, T, 128]
class CausalSelfAttention final : public Module {
 public:
  CausalSelfAttention(std::int64_t width, std::int64_t heads, double p, bool materialised, const Random& random);
  /// With a cache, x is what comes behind its positions: keys and values are appended, and all are seen.
  Variable forward(const Variable& x, KvCache* cache = nullptr) const;
  /// The name under which the masks' digest is recorded.
  const std::string& mask_name() const { return dropout_.stream_name(); }

 private:
  std::int64_t heads_;
  bool materialised_;
  Linear query_, key_, value_, output_;
  Dropout dropout_;
};

}  // namespace assay
