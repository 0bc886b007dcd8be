// The table of an embedding.
#include "nn/embedding.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "nn/initialisers.hpp"

namespace assay {
namespace {

Shape table_shape(std::int64_t rows, std::int64_t width) {
  if (rows < 1 || width < 1)
    throw Error("LAYER-3", "Embedding", "at least 1 row and 1 column",
                std::to_string(rows) + " rows of " + std::to_string(width));
  return {rows, width};
}

}  // namespace

Embedding::Embedding(std::int64_t rows, std::int64_t width, const Random& random)
    : weight_(normal(table_shape(rows, width), sabotaged("embedding_starts_wide") ? 1 : 0.02, random["weight"])) {
  register_parameter("weight", weight_);
}

Variable Embedding::forward(const Tensor& ids) const {
  ForwardScope scope(*this);
  return embedding(weight_.variable(), ids);
}

}  // namespace assay
