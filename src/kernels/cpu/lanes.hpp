// Lane order (N3) on registers and on several threads.
#pragma once

#ifdef ASSAY_HYPOTHESIS
#include "kernels/hypothesis/lanes.hpp"
#else

#include "device/cpu/scratch.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/cpu/vector.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

namespace lanes_detail {

/// The lanes of up to 4096 elements, step(lane, i) adding those at i … of a chunk.
template <class Step>
ASSAY_INLINE float lane_row(std::int64_t count, Step step) {
  constexpr int lanes = static_cast<int>(numerics::lane_count), vectors = lanes / vector_width;
  Vector lane[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) lane[v] = zero();
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) lane[v] = step(lane[v], i + v * vector_width);
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) {
    const std::int64_t left = count - i - v * vector_width;
    if (left <= 0) continue;
    const Mask mask = first_lanes(left < vector_width ? left : vector_width);
    lane[v] = select(mask, step(lane[v], i + v * vector_width, mask), lane[v]);
  }
#pragma GCC unroll 8
  for (int width = vectors / 2; width > 0; width /= 2) {
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) lane[v] = add(lane[v], lane[v + width]);
  }
  return fold(lane[0], [](Vector a, Vector b) { return add(a, b); });
}

}  // namespace lanes_detail

/// Σ x and Σ a·b in lane order, of up to 4096 neighbouring elements.
ASSAY_INLINE float chunk_sum(const float* x, std::int64_t count) {
  return lanes_detail::lane_row(
      count, [=](Vector lane, std::int64_t i, auto... mask) { return add(lane, load(x + i, mask...)); });
}
ASSAY_INLINE float chunk_dot(const float* a, const float* b, std::int64_t count) {
  return lanes_detail::lane_row(count, [=](Vector lane, std::int64_t i, auto... mask) {
    return fma(load(a + i, mask...), load(b + i, mask...), lane);
  });
}

/// `numerics::lane_chunks` with the chunks shared out over threads; no thread's part shows in the result.
template <class Chunk>
ASSAY_INLINE auto parallel_lane_chunks(std::int64_t count, Chunk chunk) {
  constexpr auto size = static_cast<std::int64_t>(numerics::lane_chunk);
  if (count <= size) return chunk(std::size_t{0}, static_cast<std::size_t>(count));
  using T = decltype(chunk(std::size_t{0}, std::size_t{0}));
  const std::int64_t chunks = (count - 1) / size + 1;
  T* const sums = static_cast<T*>(thread_scratch(static_cast<std::size_t>(chunks) * sizeof(T)));
  parallel_for(chunks, 4, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t left = count - i * size;
      sums[i] = chunk(static_cast<std::size_t>(i * size), static_cast<std::size_t>(left < size ? left : size));
    }
  });
  return numerics::lane_sum(static_cast<std::size_t>(chunks), [=](std::size_t i) { return sums[i]; });
}

}  // namespace assay::kernels::ASSAY_ISA

#endif
