// Sums of rows under a hypothesis: plain loops in the place of kernels/cpu/lanes.hpp.
#pragma once

#include "device/cpu/scratch.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/cpu/vector.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

ASSAY_INLINE float chunk_sum(const float* x, std::int64_t count) {
  return numerics::lane_sum(static_cast<std::size_t>(count), [=](std::size_t i) { return x[i]; });
}
ASSAY_INLINE float chunk_dot(const float* a, const float* b, std::int64_t count) {
  return numerics::lane_dot(
      static_cast<std::size_t>(count), [=](std::size_t i) { return a[i]; }, [=](std::size_t i) { return b[i]; });
}

template <class Chunk>
ASSAY_INLINE auto parallel_lane_chunks(std::int64_t count, Chunk chunk) {
  return numerics::lane_chunks(static_cast<std::size_t>(count), chunk);
}

}  // namespace assay::kernels::ASSAY_ISA
