// The layer around the operation.
#include "models/attention.hpp"

#include "base/error.hpp"

namespace assay {
namespace {

std::int64_t checked_heads(std::int64_t width, std::int64_t heads) {
  if (heads < 1 || width % heads != 0)
    throw Error("LAYER-3", "CausalSelfAttention", "heads that divide the width",
                std::to_string(heads) + " heads of " + std::to_string(width));
  return heads;
}

}  // namespace

CausalSelfAttention::CausalSelfAttention(std::int64_t width, std::int64_t heads, double p, bool materialised,
                                         const Random& random)
    : heads_(checked_heads(width, heads)),
      materialised_(materialised),
      query_(width, width, random["query"]),
      key_(width, width, random["key"]),
      value_(width, width, random["value"]),
      output_(width, width, random["output"]),
      dropout_(p, random["dropout"]) {
  register_module("query", query_);
  register_module("key", key_);
  register_module("value", value_);
  register_module("output", output_);
  register_module("dropout", dropout_);
}

Variable CausalSelfAttention::forward(const Variable& x, KvCache* cache) const {
  ForwardScope scope(*this);
  const Variable q = query_.forward(x);
  Variable k = key_.forward(x), v = value_.forward(x);
  if (cache) {
    KvCache::Rows rows = cache->append(k.value(), v.value());
    k = std::move(rows.keys);
    v = std::move(rows.values);
  }
  const Tensor mask = dropout_.mask({x.shape()[0], heads_, x.shape()[1], k.shape()[1]}, x.device());
  const bool drops = mask.defined() && !(materialised_ && sabotaged("materialised_dropout_loses_the_mean"));
  return output_.forward(attention(q, k, v, mask, {heads_, drops ? dropout_.p() : 0, materialised_}));
}

}  // namespace assay
