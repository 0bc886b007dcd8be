// Rows of a table, and their gradients added in order.
#include "kernels/embedding.hpp"

#include "kernels/cuda/lanes.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void rows_of_table(const float* table, const std::int32_t* ids, std::int64_t count, std::int64_t width,
                              float* y) {
  if (element() >= count * width) return;
  y[element()] = table[ids[element() / width] * width + element() % width];
}

/// A warp a position. The first position of an id adds the upstream rows of all positions of that id, ascending; the
/// lanes look for them together and share out the columns.
__global__ void rows_of_gradient(const std::int32_t* ids, const float* upstream, std::int64_t count, std::int64_t width,
                                 float* gradient) {
  const std::int64_t position = row();
  if (position >= count) return;
  const std::int32_t id = ids[position];
  float* to = gradient + id * width;
  for (std::int64_t begin = 0; begin < count; begin += lanes_per_warp) {
    const std::int64_t own = begin + lane();
    unsigned same = __ballot_sync(0xffffffffu, own < count && ids[own] == id);
    for (std::int64_t at = begin; same != 0; ++at, same /= 2) {
      if (same % 2 == 0) continue;
      if (at < position) return;
      for (std::int64_t column = lane(); column < width; column += lanes_per_warp)
        to[column] = to[column] + upstream[at * width + column];
    }
  }
}

}  // namespace

void embedding(View<const float> table, View<const std::int32_t> ids, View<float> y) {
  const std::int64_t count = size_of(ids), width = table.extent[1];
  launch<rows_of_table>("embedding", lane_per(count * width), table.data, ids.data, count, width, y.data);
}

void embedding_gradient(View<const std::int32_t> ids, View<const float> upstream, std::int64_t rows,
                        View<float> gradient) {
  const std::int64_t count = size_of(ids), width = gradient.extent[1];
  map(
      "embedding_gradient", [] __device__() { return 0.0f; }, View<float>{gradient.data, 1, {rows * width}, {1}});
  launch<rows_of_gradient>("embedding_gradient", warp_per(count), ids.data, upstream.data, count, width, gradient.data);
}

}  // namespace assay::kernels::ASSAY_ISA
