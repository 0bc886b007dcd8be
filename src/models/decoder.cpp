// Embeddings, blocks, norm and head.
#include "models/decoder.hpp"

#include "autograd/add.hpp"
#include "autograd/checkpoint.hpp"
#include "base/error.hpp"
#include "models/adapter.hpp"

namespace assay {

TransformerBlock::TransformerBlock(const DecoderOptions& options, const Random& random)
    : attention_norm_(options.width),
      attention_(options.width, options.heads, options.dropout, options.materialised, random["attention"]),
      attention_dropout_(options.dropout, random["attention_dropout"]),
      feed_forward_norm_(options.width),
      feed_forward_(options.width, options.hidden, options.activation, random["feed_forward"]),
      feed_forward_dropout_(options.dropout, random["feed_forward_dropout"]) {
  register_module("attention_norm", attention_norm_);
  register_module("attention", attention_);
  register_module("attention_dropout", attention_dropout_);
  register_module("feed_forward_norm", feed_forward_norm_);
  register_module("feed_forward", feed_forward_);
  register_module("feed_forward_dropout", feed_forward_dropout_);
}

Variable TransformerBlock::forward(const Variable& x, KvCache* cache) const {
  ForwardScope scope(*this);
  const Variable h = add(x, attention_dropout_.forward(attention_.forward(attention_norm_.forward(x), cache)));
  return add(h, feed_forward_dropout_.forward(feed_forward_.forward(feed_forward_norm_.forward(h))));
}

std::vector<std::string> TransformerBlock::mask_names() const {
  return {attention_.mask_name(), attention_dropout_.stream_name(), feed_forward_dropout_.stream_name()};
}

/// A head whose weight is the table of token embeddings.
class DecoderOnlyTransformer::TiedHead final : public Module {
 public:
  TiedHead(ParameterHandle table, std::int64_t vocabulary)
      : table_(std::move(table)), bias_(Tensor::zeros({vocabulary})) {
    tie_parameter("weight", table_);
    register_parameter("bias", bias_);
  }
  Variable forward(const Variable& x) const {
    ForwardScope scope(*this);
    return linear(x, table_->variable(), bias_.variable());
  }

 private:
  ParameterHandle table_;
  Parameter bias_;
};

namespace {

std::vector<std::shared_ptr<TransformerBlock>> blocks_of(const DecoderOptions& options, const Random& random) {
  if (options.blocks < 1)
    throw Error("LAYER-3", "DecoderOnlyTransformer", "at least 1 block", std::to_string(options.blocks));
  std::vector<std::shared_ptr<TransformerBlock>> blocks;
  for (std::int64_t i = 0; i < options.blocks; ++i)
    blocks.push_back(std::make_shared<TransformerBlock>(options, random[std::to_string(i)]));
  return blocks;
}

/// The block's result, computed again in the backward pass.
Variable checkpointed(TransformerBlock& block, const Variable& x) {
  std::vector<Variable> dependencies{x};
  for (const ParameterList& list : {block.parameters(), lora_parameters(block)})
    for (const NamedParameter& entry : list)
      if (entry.parameter->variable().requires_gradient()) dependencies.push_back(entry.parameter->variable());
  if (!x.requires_gradient()) dependencies.erase(dependencies.begin());
  return checkpoint(
      [&block, x](const std::vector<Variable>& in) { return block.forward(x.requires_gradient() ? in[0] : x); },
      dependencies);
}

}  // namespace

DecoderOnlyTransformer::DecoderOnlyTransformer(const DecoderOptions& options, const Random& random)
    : options_(options),
      token_embedding_(options.vocabulary, options.width, random["token_embedding"]),
      position_embedding_(options.context, options.width, random["position_embedding"]),
      embedding_dropout_(options.dropout, random["embedding_dropout"]),
      blocks_(blocks_of(options, random["blocks"])),
      final_norm_(options.width) {
  register_module("token_embedding", token_embedding_);
  register_module("position_embedding", position_embedding_);
  register_module("embedding_dropout", embedding_dropout_);
  register_module("blocks", blocks_);
  register_module("final_norm", final_norm_);
  if (options.tied) {
    tied_head_ = std::make_shared<TiedHead>(token_embedding_.weight(), options.vocabulary);
    register_module("language_model_head", tied_head_);
  } else {
    head_ = std::make_shared<Linear>(options.width, options.vocabulary, random["language_model_head"]);
    register_module("language_model_head", head_);
  }
}

void DecoderOnlyTransformer::require_ids(const Tensor& ids) const {
  if (ids.shape().rank() != 2 || ids.shape()[1] < 1 || ids.shape()[1] > options_.context)
    throw Error("LAYER-3", "DecoderOnlyTransformer",
                "ids [B, T] with T from 1 to the context " + std::to_string(options_.context), to_string(ids.shape()));
}

/// Tokens and the positions from `first`.
Variable DecoderOnlyTransformer::embedded(const Tensor& ids, std::int64_t first) const {
  std::vector<std::int32_t> positions;
  for (std::int64_t t = 0; t < ids.shape()[1]; ++t) positions.push_back(static_cast<std::int32_t>(first + t));
  const Tensor places = Tensor::from(positions, {ids.shape()[1]}, ids.device());
  return embedding_dropout_.forward(add(token_embedding_.forward(ids), position_embedding_.forward(places)));
}

Variable DecoderOnlyTransformer::forward(const Tensor& ids) const {
  ForwardScope scope(*this);
  require_ids(ids);
  Variable x = embedded(ids, 0);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = options_.checkpointed ? checkpointed(blocks_[i], x) : blocks_[i].forward(x);
  return logits(x);
}

Variable DecoderOnlyTransformer::logits(const Variable& x) const {
  const Variable y = final_norm_.forward(x);
  return tied_head_ ? tied_head_->forward(y) : head_->forward(y);
}

KvCache DecoderOnlyTransformer::new_cache(std::int64_t samples) const {
  return {options_.blocks, {samples, options_.context, options_.width}, token_embedding_.weight()->value().device()};
}

Tensor DecoderOnlyTransformer::forward(const Tensor& ids, KvCache& cache) const {
  const EvalScope evaluation;
  const NoGradScope no_gradients;
  ForwardScope scope(*this);
  require_ids(ids);
  const auto text = [](std::int64_t blocks, const Shape& rows, Device device) {
    return "a cache of " + std::to_string(blocks) + " blocks of rows " + to_string(rows) + " on " + to_string(device);
  };
  const std::string expected = text(options_.blocks, {ids.shape()[0], options_.context, options_.width}, ids.device());
  const std::string found = text(cache.blocks(), cache.shape(), cache.device());
  if (expected != found) throw Error("KV-2", "DecoderOnlyTransformer", expected, found);

  cache.begin(ids.shape()[1]);
  try {
    Variable x = embedded(ids, sabotaged("cached_positions_start_at_0") ? 0 : cache.length());
    for (std::size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i].forward(x, &cache);
    x = logits(x);
    cache.commit();
    return x.value();
  } catch (...) {
    cache.abort();
    throw;
  }
}

std::vector<std::string> DecoderOnlyTransformer::mask_names() const {
  std::vector<std::string> names;
  if (options_.dropout == 0) return names;
  names.push_back(embedding_dropout_.stream_name());
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    for (const std::string& name : blocks_[i].mask_names()) names.push_back(name);
  return names;
}

}  // namespace assay
