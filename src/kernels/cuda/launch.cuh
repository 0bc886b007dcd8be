// How a source of CUDA launches its kernels: by <<<…>>> under nvcc, lane by lane on the host for the simulated device.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "device/device.hpp"
#include "numerics/isa.hpp"
#include "tensor/view.hpp"
#ifdef __CUDACC__
#include "device/cuda/runtime.hpp"
#define SHARED(name, ...) __shared__ std::type_identity_t<__VA_ARGS__> name
#else
#include "device/simulated/cuda_names.hpp"
#include "device/simulated/memory.hpp"
#endif

// Before a loop whose counter has to be a constant in its body, so that what it indexes stays in registers.
#if defined(__CUDACC__) || defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

namespace assay::kernels {

/// Whether a struct without pointers may be an argument of a kernel, as it is.
template <class T>
inline constexpr bool is_plain_argument = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_empty_v<T>;

namespace ASSAY_ISA {

/// The device that this build of the source is for.
#if defined(__CUDACC__)
inline constexpr Device this_device = cuda_device;
#else
#define ASSAY_TEXT_OF(...) #__VA_ARGS__
#define ASSAY_TEXT(...) ASSAY_TEXT_OF(__VA_ARGS__)
inline constexpr Device this_device = ASSAY_TEXT(ASSAY_ISA) == std::string_view("on_cpu") ? cpu : simulated;
#undef ASSAY_TEXT
#undef ASSAY_TEXT_OF
#endif

inline constexpr unsigned lanes_per_warp = 32;

/// Blocks and lanes of a launch. Only lanes that `meet` may have barriers, shuffles and shared memory; on the simulated
/// device the others run as a plain loop.
struct Grid {
  std::int64_t blocks;
  unsigned lanes;
  bool meet = false;
};

namespace launch_detail {
#ifdef __CUDACC__
constexpr unsigned block_lanes(unsigned usual) { return usual; }
#else
using simt::block_lanes;
#endif
}  // namespace launch_detail

/// A lane for each of `count` elements; in the kernel, `element()` is its own, which may lie beyond the last.
inline Grid lane_per(std::int64_t count) {
  const unsigned lanes = launch_detail::block_lanes(256);
  return {(count + lanes - 1) / lanes, lanes};
}
__device__ __forceinline__ std::int64_t element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// A warp for each of `count` rows; `row()` is its own, which may lie beyond the last.
inline Grid warp_per(std::int64_t count) {
  const unsigned lanes = launch_detail::block_lanes(4 * lanes_per_warp), warps = lanes / lanes_per_warp;
  return {(count + warps - 1) / warps, lanes, true};
}
__device__ __forceinline__ std::int64_t row() { return element() / lanes_per_warp; }
__device__ __forceinline__ unsigned lane() { return threadIdx.x % lanes_per_warp; }

namespace launch_detail {

#ifdef __CUDACC__
template <class T>
T on_device(T argument) {
  return argument;
}
#else
/// A pointer as the lanes can follow it.
template <class T>
T* on_device(T* pointer) {
  return this_device == simulated ? simulated_memory::on_host(pointer) : pointer;
}
template <class T>
View<T> on_device(View<T> view) {
  view.data = on_device(view.data);
  return view;
}
template <class T>
T on_device(const T& argument) {
  static_assert(is_plain_argument<T>, "a kernel takes numbers, pointers, views and what is declared as plain");
  return argument;
}
#endif

}  // namespace launch_detail

/// Launches `kernel` on all blocks; none is no work. Errors: RES-6 naming the kernel.
///
///     launch<rows_of_softmax>("softmax", warp_per(rows), x.data, y.data, rows, length);
template <auto kernel, class... Arguments>
void launch(const char* name, const Grid& grid, const Arguments&... arguments) {
  if (grid.blocks == 0) return;
#ifdef __CUDACC__
  kernel<<<static_cast<unsigned>(grid.blocks), grid.lanes, 0, ::assay::cuda::stream()>>>(arguments...);
  ::assay::cuda::check_launch(name);
#else
  simt::run({name, {static_cast<unsigned>(grid.blocks)}, {grid.lanes}, grid.meet},
            [... argument = launch_detail::on_device(arguments)] { kernel(argument...); });
#endif
}

}  // namespace ASSAY_ISA
}  // namespace assay::kernels
