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

Variable CausalSelfAttention::forward(const Variable& x) const {
  ForwardScope scope(*this);
  const Variable q = query_.forward(x), k = key_.forward(x), v = value_.forward(x);
  const std::int64_t samples = x.shape()[0], positions = x.shape()[1];
  const Tensor mask = dropout_.mask({samples, heads_, positions, positions}, x.device());
  return output_.forward(attention(q, k, v, mask, {heads_, mask.defined() ? dropout_.p() : 0, materialised_}));
}

}  // namespace assay
