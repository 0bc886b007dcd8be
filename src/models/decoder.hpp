// DecoderOnlyTransformer and the block that it repeats.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/attention.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/layer_norm.hpp"

namespace assay {

/// The extents of a decoder and the forms of its computation.
struct DecoderOptions {
  std::int64_t vocabulary = 256, context = 64, width = 128, heads = 4, blocks = 4, hidden = 512;
  Activation activation = Activation::gelu;
  double dropout = 0;         ///< behind the embeddings and both branches of a block, and of attention weights
  bool tied = false;          ///< the head uses the table of token embeddings as its weight
  bool materialised = false;  ///< attention keeps its exponentials for the gradient
  bool checkpointed = false;  ///< each block is computed again in the backward pass
};

/// Pre-norm: h = x + attention(attention_norm(x)), y = h + feed_forward(feed_forward_norm(h)), dropout on both
/// branches. Children "attention_norm", "attention", "attention_dropout", "feed_forward_norm", "feed_forward" and
/// "feed_forward_dropout"; x and y [B, T, C]. Errors: those of its children.
/// Source: R. Xiong et al., "On layer normalization in the transformer architecture" (2020).
///
///     TransformerBlock block({.width = 64, .heads = 2, .hidden = 256}, random["0"]);
///     Variable y = block.forward(x);  // [B, T, 64]
class TransformerBlock final : public Module {
 public:
  TransformerBlock(const DecoderOptions& options, const Random& random);
  Variable forward(const Variable& x, KvCache* cache = nullptr) const;
  std::vector<std::string> mask_names() const;

 private:
  LayerNorm attention_norm_;
  CausalSelfAttention attention_;
  Dropout attention_dropout_;
  LayerNorm feed_forward_norm_;
  FeedForward feed_forward_;
  Dropout feed_forward_dropout_;
};

/// The logits of the token behind each position: ids [B, T], int32, T at most the context → [B, T, V].
///
/// Tokens and learned positions are embedded and added, go through the blocks and a final norm, and the head maps them
/// to the vocabulary. Parameters, in this order: token_embedding.weight [V, C], position_embedding.weight [context, C],
/// blocks.N.attention_norm.{scale,bias}, blocks.N.attention.{query,key,value,output}.{weight,bias},
/// blocks.N.feed_forward_norm.{scale,bias}, blocks.N.feed_forward.{expand,project}.{weight,bias},
/// final_norm.{scale,bias}, language_model_head.{weight,bias}; a tied head has the bias alone.
///
/// Guarantees: the logits of a position do not depend on later tokens nor on other rows of the batch, bit for bit
/// (NUM-3, NUM-9); nor any result on `materialised` and `checkpointed` (NUM-9, NUM-10).
/// Errors: LAYER-3 for ids of another rank, longer than the context or out of range; those of its parts.
/// Source: A. Radford et al., "Language models are unsupervised multitask learners" (2019).
///
///     DecoderOnlyTransformer model({.vocabulary = 256, .context = 64}, Random(7));
///     Variable logits = model.forward(ids);  // [B, T] → [B, T, 256]
class DecoderOnlyTransformer final : public Module {
 public:
  DecoderOnlyTransformer(const DecoderOptions& options, const Random& random);
  Variable forward(const Tensor& ids) const;
  /// An empty cache for so many sequences, on the model's device. Errors: KV-3.
  KvCache new_cache(std::int64_t samples = 1) const;
  /// Logits [B, T, V] of the T tokens behind those of the cache, which has them too afterwards; a whole prompt or one
  /// token. Evaluates, without gradients. The bits are those of `forward` over all tokens in evaluation mode (KV-2,
  /// NUM-9). On any error the cache is as it was, so the call can be made again (KV-1).
  /// Errors: KV-2 for the cache of another model, batch or device, KV-4 without room, LAYER-3, RES-6.
  ///
  ///     KvCache cache = model.new_cache();
  ///     model.forward(prompt, cache);                     // [1, T] → [1, T, 256]
  ///     Tensor logits = model.forward(token, cache);      // [1, 1] → [1, 1, 256]
  Tensor forward(const Tensor& ids, KvCache& cache) const;
  const DecoderOptions& options() const { return options_; }
  /// The streams of the dropout masks, in the order of their use; none without dropout.
  std::vector<std::string> mask_names() const;

 private:
  class TiedHead;

  void require_ids(const Tensor& ids) const;
  Variable embedded(const Tensor& ids, std::int64_t first) const;
  Variable logits(const Variable& x) const;

  DecoderOptions options_;
  Embedding token_embedding_, position_embedding_;
  Dropout embedding_dropout_;
  ModuleList<TransformerBlock> blocks_;
  LayerNorm final_norm_;
  std::shared_ptr<Linear> head_;  // one of the two
  std::shared_ptr<TiedHead> tied_head_;
};

}  // namespace assay
