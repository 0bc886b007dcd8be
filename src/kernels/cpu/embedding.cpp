// Rows of a table, and their gradients added in order: threads share columns, so no element has two writers.
#include "kernels/embedding.hpp"

#include <algorithm>

#include "device/cpu/thread_pool.hpp"
#include "kernels/walk.hpp"

namespace assay::kernels::ASSAY_ISA {

void embedding(View<const float> table, View<const std::int32_t> ids, View<float> y) {
  const std::int64_t width = table.extent[1];
  parallel_for(size_of(ids), elements_per_task / (width + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) std::copy_n(table.data + ids.data[i] * width, width, y.data + i * width);
  });
}

void embedding_gradient(View<const std::int32_t> ids, View<const float> upstream, std::int64_t rows,
                        View<float> gradient) {
  const std::int64_t width = gradient.extent[1], count = size_of(ids);
  parallel_for(width, elements_per_task / (count + rows + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < rows; ++row)
      std::fill(gradient.data + row * width + begin, gradient.data + row * width + end, 0.0f);
    for (std::int64_t i = 0; i < count; ++i) {
      float* to = gradient.data + ids.data[i] * width;
      const float* from = upstream.data + i * width;
      for (std::int64_t c = begin; c < end; ++c) to[c] += from[c];
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
