// Embedding: a learned row for each id.
#pragma once

#include "autograd/embedding.hpp"
#include "nn/module.hpp"
#include "numerics/random.hpp"

namespace assay {

/// y[…, c] = weight[ids[…], c] with ids int32 of any shape, each in [0, V), y […, C]. Parameter "weight" [V, C].
///
/// A forward is the operation `embedding`. Initial values: normal with a deviation of 0.02 from the stream "….weight".
/// Errors: LAYER-3 for V or C below 1 and for an id out of range; ACC-4 for ids of another type, GRAPH-13.
/// Source of the deviation: A. Radford et al., "Improving language understanding by generative pre-training" (2018).
///
///     Embedding tokens(256, 64, random["token_embedding"]);
///     Variable x = tokens.forward(ids);  // [B, T] → [B, T, 64]
class Embedding final : public Module {
 public:
  Embedding(std::int64_t rows, std::int64_t width, const Random& random);
  Variable forward(const Tensor& ids) const;
  /// The table, for a module that uses it too.
  ParameterHandle weight() const { return weight_.handle(); }

 private:
  Parameter weight_;
};

}  // namespace assay
