// Rows of a table, and their gradients added in order: threads share columns, so no element has two writers.
#include "kernels/embedding.hpp"

#include <algorithm>

#include "base/sabotage.hpp"
#include "device/cpu/thread_pool.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr std::int64_t elements_per_task = 8192;

std::int64_t count_of(View<const std::int32_t> ids) {
  std::int64_t count = 1;
  for (int axis = 0; axis < ids.rank; ++axis) count *= ids.extent[axis];
  return count;
}

}  // namespace

void embedding(View<const float> table, View<const std::int32_t> ids, View<float> y) {
  const std::int64_t width = table.extent[1];
  parallel_for(count_of(ids), elements_per_task / (width + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) std::copy_n(table.data + ids.data[i] * width, width, y.data + i * width);
  });
}

void embedding_gradient(View<const std::int32_t> ids, View<const float> upstream, std::int64_t rows,
                        View<float> gradient) {
  const std::int64_t width = gradient.extent[1], count = count_of(ids);
  const bool overwrite = sabotaged("embedding_row_keeps_last_use");
  parallel_for(width, elements_per_task / (count + rows + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < rows; ++row)
      std::fill(gradient.data + row * width + begin, gradient.data + row * width + end, 0.0f);
    for (std::int64_t i = 0; i < count; ++i) {
      float* to = gradient.data + ids.data[i] * width;
      const float* from = upstream.data + i * width;
      for (std::int64_t c = begin; c < end; ++c) to[c] = overwrite ? from[c] : to[c] + from[c];
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
