// Rows of a table and their gradient.
#pragma once

#include "autograd/variable.hpp"
#include "base/sabotage.hpp"
#include "kernels/embedding.hpp"

namespace assay {

/// y[…, c] = table[ids[…], c] with table [V, C] and ids int32 of any shape, y […, C]. Gradient by the table: every
/// element starts at +0, and the upstream rows are added in ascending position of their ids, row-major (N5); a row that
/// no id names stays +0.
/// Errors, before anything is computed: LAYER-3 for other shapes or an id out of range (names its element), ACC-4 for
/// ids of another type, GRAPH-13.
///
///     embedding(table, Tensor::from<std::int32_t>({2, 0, 2}, {3}));  // [V, C] → [3, C]
inline Variable embedding(const Variable& table, const Tensor& ids) {
  kernels::require_ids(table.value(), ids);
  return custom_gradient("embedding", kernels::embedding(table.value(), ids), {table, ids},
                         [ids, rows = table.shape()[0]](const Tensor& upstream, const std::vector<bool>&) {
                           if (sabotaged("embedding_first_use_is_lost"))
                             return std::vector{kernels::embedding_gradient(ids.slice(0, 1, ids.shape()[0]),
                                                                            upstream.slice(0, 1, ids.shape()[0]), rows),
                                                Tensor()};
                           return std::vector{kernels::embedding_gradient(ids, upstream, rows), Tensor()};
                         });
}

}  // namespace assay
