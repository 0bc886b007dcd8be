// Rows of the last axis, a warp for each: their maximum and its place. Operands are contiguous.
#pragma once

#include "kernels/cuda/lanes.cuh"
#include "numerics/exp.hpp"
#include "numerics/log.hpp"

namespace assay::kernels::ASSAY_ISA {

/// Calls work(i) for every i below `length`, shared out over the lanes as in lane order: a lane sees what it has
/// written itself.
template <class Work>
__device__ __forceinline__ void each_in_row(std::int64_t length, Work work) {
  for (std::int64_t i = lane(); i < length; i += lanes_per_warp) work(i);
}

/// The maximum of N1 over at least one element.
__device__ __forceinline__ float row_maximum(const float* x, std::int64_t length) {
  float best = x[0];
  each_in_row(length, [&](std::int64_t i) { best = numerics::maximum(best, x[i]); });
  return across_warp(best, [](float a, float b) { return numerics::maximum(a, b); });
}

/// The lowest index of the maximum of N1: a NaN first, +0 before −0.
__device__ __forceinline__ std::int64_t row_argmax(const float* x, std::int64_t length) {
  const std::uint32_t wanted = numerics::canonical_bits(row_maximum(x, length));
  std::int64_t first = length;
  each_in_row(length, [&](std::int64_t i) {
    if (i < first && numerics::canonical_bits(x[i]) == wanted) first = i;
  });
  return across_warp(first, [](std::int64_t a, std::int64_t b) { return a < b ? a : b; });
}

/// The two scalars of a row's log-softmax (x − m) − log(Σ exp(x − m)).
struct LogSoftmax {
  float most, log_of_sum;

  __device__ __forceinline__ LogSoftmax(const float* x, std::int64_t length)
      : most(row_maximum(x, length)),
        log_of_sum(numerics::log(warp_sum(length, [&](std::int64_t i) { return numerics::exp(x[i] - most); }))) {}
  __device__ __forceinline__ float of(float x) const { return (x - most) - log_of_sum; }
};

/// The extent of the last axis, and how many rows have it.
template <class T>
std::int64_t row_length(const View<T>& x) {
  return x.extent[x.rank - 1];
}
template <class T>
std::int64_t row_count(const View<T>& x) {
  const std::int64_t length = row_length(x);
  return length == 0 ? 0 : size_of(x) / length;
}

}  // namespace assay::kernels::ASSAY_ISA
