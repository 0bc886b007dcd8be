// Rows of root mean square 1, a block a row.
#include "rms_norm.hpp"

#include "kernels/cuda/rows.cuh"
#include "numerics/rsqrt.hpp"

namespace example::ASSAY_ISA {

using namespace assay;
using namespace assay::kernels::ASSAY_ISA;

namespace {

constexpr unsigned warps = 4;

/// Calls work(i) for every i below `length`, shared out over the lanes of the block.
template <class Work>
__device__ void each(std::int64_t length, Work work) {
  for (std::int64_t i = threadIdx.x; i < length; i += blockDim.x) work(i);
}

/// Σ a[i]·b[i], in every lane of the block; `sums` is shared and has a place for each warp.
__device__ float block_dot(const float* a, const float* b, std::int64_t length, float* sums) {
  float sum = 0;
  each(length, [&](std::int64_t i) { sum = numerics::fma(a[i], b[i], sum); });
  sum = sum_across_warp(sum);
  if (lane() == 0) sums[threadIdx.x / lanes_per_warp] = sum;
  __syncthreads();
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

__global__ void rms_norm_rows(const float* x, float* y, std::int64_t length, float epsilon) {
  SHARED(squares, float[warps]);
  x += blockIdx.x * length;
  y += blockIdx.x * length;
  const float mean = block_dot(x, x, length, squares) / static_cast<float>(length);
  const float r = numerics::rsqrt(mean + epsilon);
  each(length, [&](std::int64_t i) { y[i] = x[i] * r; });
}

__global__ void rms_norm_gradient_rows(const float* x, const float* upstream, float* gradient, std::int64_t length,
                                       float epsilon) {
  SHARED(squares, float[warps]);
  SHARED(products, float[warps]);
  x += blockIdx.x * length;
  upstream += blockIdx.x * length;
  gradient += blockIdx.x * length;
  const float n = static_cast<float>(length);
  const float r = numerics::rsqrt(block_dot(x, x, length, squares) / n + epsilon);
  const float along = block_dot(x, upstream, length, products) / n * r * r;
  each(length, [&](std::int64_t i) { gradient[i] = r * (upstream[i] - x[i] * along); });
}

/// A block for each row of x.
Grid block_per_row(const View<const float>& x) { return {row_count(x), warps * lanes_per_warp, true}; }

}  // namespace

void rms_norm(View<const float> x, float epsilon, View<float> y) {
  launch<rms_norm_rows>("rms_norm", block_per_row(x), x.data, y.data, row_length(x), epsilon);
}

void rms_norm_gradient(View<const float> x, View<const float> upstream, float epsilon, View<float> gradient) {
  launch<rms_norm_gradient_rows>("rms_norm_gradient", block_per_row(x), x.data, upstream.data, gradient.data,
                                 row_length(x), epsilon);
}

}  // namespace example::ASSAY_ISA
