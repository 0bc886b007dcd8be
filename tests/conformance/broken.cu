// Kernels with the mistakes that are easily made: a barrier too few, one that not every lane reaches, a place too far.
#include "broken.hpp"

#include "kernels/cuda/rows.cuh"

namespace example::ASSAY_ISA {

using namespace assay;
using namespace assay::kernels::ASSAY_ISA;

namespace {

/// A block for each row, a lane for each element.
__global__ void beside_rows(const float* x, float* y, std::int64_t length, int distance, Barrier barrier) {
  SHARED(values, float[64]);
  const std::int64_t i = threadIdx.x, other = i + distance, begin = blockIdx.x * length;
  values[i] = x[begin + i];
  if (barrier == Barrier::for_all || (barrier == Barrier::for_some && i > 0)) __syncthreads();
  y[begin + i] = x[begin + i] + (other >= 0 && other < length ? values[other] : 0);
}

__global__ void beyond_rows(const float* x, float* y, std::int64_t size, std::int64_t length) {
  const std::int64_t i = element();
  if (i >= size) return;
  y[i] = 2 * x[i];
  if ((i + 1) % length == 0 && i + 1 < size) y[i + 1] = 0;
}

}  // namespace

void beside(View<const float> x, int distance, Barrier barrier, View<float> y) {
  launch<beside_rows>("beside", Grid{row_count(x), static_cast<unsigned>(row_length(x)), true}, x.data, y.data,
                      row_length(x), distance, barrier);
}

void beyond(View<const float> x, View<float> y) {
  const std::int64_t size = row_count(x) * row_length(x);
  launch<beyond_rows>("beyond", lane_per(size), x.data, y.data, size, row_length(x));
}

}  // namespace example::ASSAY_ISA
