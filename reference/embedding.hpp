// Embedding of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// Row ids[i] of the table, for each i; table [V, C].
inline Array embedding(const Array& table, const Array& ids) {
  const std::int64_t width = table.shape[1];
  Array y = zeros({ids.size(), width});
  for (std::int64_t i = 0; i < ids.size(); ++i)
    for (std::int64_t c = 0; c < width; ++c) y[i * width + c] = table[static_cast<std::int64_t>(ids[i]) * width + c];
  return y;
}

/// Row v of the gradient is the sum of the upstream rows whose id is v; of a table with `rows` rows.
inline Array embedding_gradient(const Array& ids, const Array& upstream, std::int64_t rows) {
  const std::int64_t width = upstream.shape.back();
  Array gradient = zeros({rows, width});
  for (std::int64_t i = 0; i < ids.size(); ++i)
    for (std::int64_t c = 0; c < width; ++c)
      gradient[static_cast<std::int64_t>(ids[i]) * width + c] += upstream[i * width + c];
  return gradient;
}

}  // namespace assay::reference
