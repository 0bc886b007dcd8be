// Lane order (N3): a warp is the 32 lanes, its shuffles are the tree.
#pragma once

#include "device/scratch.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "numerics/arithmetic.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

inline constexpr auto lane_chunk = static_cast<std::int64_t>(numerics::lane_chunk);
static_assert(numerics::lane_count == lanes_per_warp);

/// What the lanes of the warp have, combined: lane l with lane l + w for w = 16, 8, 4, 2, 1. All lanes get it, since
/// each `combine` here is commutative.
template <class T, class Combine>
__device__ __forceinline__ T across_warp(T value, Combine combine) {
  for (int width = lanes_per_warp / 2; width > 0; width /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, width));
  return value;
}
template <class T>
__device__ __forceinline__ T sum_across_warp(T value) {
  return across_warp(value, [](T a, T b) { return a + b; });
}

/// Lane order over elements begin … end − 1, at most `lane_chunk` of them, where step(sum, i) adds element i.
template <class T, class Step>
__device__ __forceinline__ T warp_chunk(std::int64_t begin, std::int64_t end, Step step) {
  T sum = 0;
  for (std::int64_t i = begin + lane(); i < end; i += lanes_per_warp) sum = step(sum, i);
  return sum_across_warp(sum);
}

/// Lane order over elements 0 … length − 1 by one warp; up to 4096³ of them.
template <class Step>
__device__ __forceinline__ float warp_order(std::int64_t length, Step step) {
  if (length <= lane_chunk) return warp_chunk<float>(0, length, step);
  float group = 0, all = 0;  // this lane's sums of chunks, and of 4096 chunks
  for (std::int64_t chunk = 0; chunk * lane_chunk < length; ++chunk) {
    const std::int64_t begin = chunk * lane_chunk, end = begin + lane_chunk < length ? begin + lane_chunk : length;
    const float sum = warp_chunk<float>(begin, end, step);
    if (chunk % lanes_per_warp == lane()) group = group + sum;
    if (end < length && (chunk + 1) % lane_chunk != 0) continue;
    group = sum_across_warp(group);
    if (length <= lane_chunk * lane_chunk) return group;
    if (chunk / lane_chunk % lanes_per_warp == lane()) all = all + group;
    group = 0;
  }
  return sum_across_warp(all);
}

/// Σ term(i), i = 0 … length − 1, in lane order.
template <class Term>
__device__ __forceinline__ float warp_sum(std::int64_t length, Term term) {
  return warp_order(length, [&](float sum, std::int64_t i) { return sum + term(i); });
}

/// Σ a(i)·b(i) in the same way, each step one fma; sums of chunks are plainly added.
template <class A, class B>
__device__ __forceinline__ float warp_dot(std::int64_t length, A a, B b) {
  return warp_order(length, [&](float sum, std::int64_t i) { return numerics::fma(a(i), b(i), sum); });
}

/// sum + number.
struct Plus {
  template <class T>
  __device__ T operator()(T sum, T number) const {
    return sum + number;
  }
};

template <class F, class T, std::size_t... v, class... Operand>
__device__ __forceinline__ T step_at(const F& step, T sum, const std::int64_t* row, const std::int64_t* offset,
                                     std::index_sequence<v...>, Operand*... views) {
  return step(sum, views[row[v] + offset[v]]...);
}

template <class F, class T, class... Operand>
__global__ void chunks_in_lane_order(Function<F> step, Walk<sizeof...(Operand)> rows, Walk<sizeof...(Operand)> along,
                                     std::int64_t chunks, T* sums, Operand*... views) {
  const std::int64_t task = row();
  if (task >= rows.size * chunks) return;
  const std::int64_t begin = task % chunks * lane_chunk, whole = begin + lane_chunk;
  std::int64_t row_offset[sizeof...(Operand)];
  rows.locate(task / chunks, row_offset);
  const T sum = warp_chunk<T>(begin, whole < along.size ? whole : along.size, [&](T before, std::int64_t i) {
    std::int64_t offset[sizeof...(Operand)];
    along.locate(i, offset);
    return step_at(step.of, before, row_offset, offset, std::index_sequence_for<Operand...>(), views...);
  });
  if (lane() == 0) sums[task] = sum;
}

/// y[row] = the lane order of all elements of each row, where step(sum, elements…) adds one: a row is the elements
/// `along`, from where `rows` says. A warp for each 4096 of them; then the same over the chunks' sums.
template <class T, class F, class... Operand>
void lane_order(const char* name, F step, const Walk<sizeof...(Operand)>& rows, const Walk<sizeof...(Operand)>& along,
                T* y, Operand*... views) {
  const std::int64_t chunks = along.size <= lane_chunk ? 1 : (along.size - 1) / lane_chunk + 1;
  const Grid grid = warp_per(rows.size * chunks);
  if (chunks == 1)
    return launch<chunks_in_lane_order<F, T, Operand...>>(name, grid, Function<F>{step}, rows, along, chunks, y,
                                                          views...);
  Scratch scratch(this_device, static_cast<std::size_t>(rows.size * chunks) * sizeof(T));
  T* sums = reinterpret_cast<T*>(scratch.data());
  launch<chunks_in_lane_order<F, T, Operand...>>(name, grid, Function<F>{step}, rows, along, chunks, sums, views...);
  lane_order<T>(name, Plus(), Walk<1>{0, rows.size, {rows.size}, {{chunks}}}, Walk<1>{0, chunks, {chunks}, {{1}}}, y,
                static_cast<const T*>(sums));
}

/// The lane order of all elements of contiguous views, as one row.
template <class T, class F, class... Operand>
void lane_order_of_all(const char* name, F step, T* y, View<Operand>... views) {
  constexpr int number = sizeof...(Operand);
  const int ranks[] = {views.rank...};
  Walk<number> one;
  for (int v = 0; v < number; ++v) one.stride[0][v] = 0;
  lane_order(name, step, one, walk_of(0, ranks[0], views...), y, views.data...);
}

}  // namespace assay::kernels::ASSAY_ISA
