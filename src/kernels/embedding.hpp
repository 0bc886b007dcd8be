// Rows of a table, by number.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/embedding.hpp"

namespace assay::kernels {

/// Every operand is contiguous, and ids are in range; y, upstream and ids have as many rows.
ASSAY_DECLARE_KERNEL(void embedding(View<const float> table, View<const std::int32_t> ids, View<float> y))
ASSAY_DECLARE_KERNEL(void embedding_gradient(View<const std::int32_t> ids, View<const float> upstream,
                                             std::int64_t rows, View<float> gradient))

/// Refuses anything but a table [V, C] with ids, int32, each in [0, V). Errors: LAYER-3, GRAPH-13, ACC-4 for ids of
/// another type.
inline void require_ids(const Tensor& table, const Tensor& ids) {
  require_same_device("embedding", table, ids);
  if (table.shape().rank() != 2 || ids.shape().rank() >= max_rank)
    throw Error("LAYER-3", "embedding", "a table [V, C] and ids of at most 5 axes",
                to_string(table.shape()) + " and " + to_string(ids.shape()));
  auto values = ids.read<std::int32_t>();
  for (std::int64_t i = 0; i < values.size(); ++i)
    if (values[i] < 0 || values[i] >= table.shape()[0])
      throw Error("LAYER-3", "embedding",
                  "an id from 0 to " + std::to_string(table.shape()[0] - 1) + " at element " + std::to_string(i),
                  std::to_string(values[i]));
}

/// Ids in row-major order, themselves where they are so already.
inline Tensor row_major(const Tensor& ids) {
  return ids.contiguous() ? ids : Tensor::from(ids.read<std::int32_t>().span(), ids.shape(), ids.device());
}

/// The rows of the table that the ids name: [V, C] and ids of any shape → […, C].
inline Tensor embedding(const Tensor& table, const Tensor& ids) {
  std::vector<std::int64_t> extents = ids.shape().extents();
  extents.push_back(table.shape()[1]);
  return run(Tensor::uninitialised({ids.size(), table.shape()[1]}, table.device()), ASSAY_KERNEL(embedding),
             reference::embedding, contiguous(table), Labels{row_major(ids)})
      .reshape(Shape(extents));
}

/// The gradient by a table of `rows` rows: from +0, upstream rows added in ascending position of their ids.
inline Tensor embedding_gradient(const Tensor& ids, const Tensor& upstream, std::int64_t rows) {
  return run(Tensor::uninitialised({rows, upstream.shape()[-1]}, upstream.device()), ASSAY_KERNEL(embedding_gradient),
             reference::embedding_gradient, Labels{row_major(ids)}, contiguous(upstream), rows);
}

}  // namespace assay::kernels
