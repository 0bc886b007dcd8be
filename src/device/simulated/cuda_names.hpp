// What a kernel source of CUDA takes for given, for a compiler of the host. For sources of kernels only.
#pragma once

#include <algorithm>
#include <bit>

#include "device/simulated/simt.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

#define threadIdx (::assay::simt::place().thread)
#define blockIdx (::assay::simt::place().block)
#define blockDim (::assay::simt::place().block_size)
#define gridDim (::assay::simt::place().grid_size)

/// Memory of the block; the type may hold commas: SHARED(tile, float[16][17]).
#define SHARED(name, ...)           \
  static const char name##_key = 0; \
  using name##_type = __VA_ARGS__;  \
  auto& name = *static_cast<name##_type*>(::assay::simt::shared(&name##_key, sizeof(name##_type)))

inline void __syncthreads(int line = __builtin_LINE()) { ::assay::simt::barrier(line); }
inline void __syncwarp(std::uint32_t mask = 0xffffffffu, int line = __builtin_LINE()) {
  ::assay::simt::ballot(mask, true, line);
}
inline unsigned __ballot_sync(std::uint32_t mask, int predicate, int line = __builtin_LINE()) {
  return ::assay::simt::ballot(mask, predicate != 0, line);
}

namespace assay::simt {

template <class T>
T shuffle(std::uint32_t mask, T value, unsigned source, int line) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange(mask, bits, source, line);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace assay::simt

// A lane whose partner is outside of its segment of `width` lanes keeps its own value, as on the device.
template <class T>
T __shfl_sync(std::uint32_t mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = ::assay::simt::lane_of_warp(), w = static_cast<unsigned>(width);
  return ::assay::simt::shuffle(mask, value, lane / w * w + static_cast<unsigned>(source) % w, line);
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = ::assay::simt::lane_of_warp(), w = static_cast<unsigned>(width);
  const unsigned other = lane ^ static_cast<unsigned>(bits);
  return ::assay::simt::shuffle(mask, value, other / w > lane / w ? lane : other, line);
}
template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = ::assay::simt::lane_of_warp(), w = static_cast<unsigned>(width);
  return ::assay::simt::shuffle(mask, value, lane % w + delta < w ? lane + delta : lane, line);
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = ::assay::simt::lane_of_warp(), w = static_cast<unsigned>(width);
  return ::assay::simt::shuffle(mask, value, lane % w >= delta ? lane - delta : lane, line);
}
