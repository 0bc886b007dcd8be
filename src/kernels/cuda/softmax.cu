// Softmax, a warp a row.
#include "kernels/softmax.hpp"

#include "kernels/cuda/rows.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t length) {
  if (row() >= rows) return;
  x += row() * length;
  y += row() * length;
  const float most = row_maximum(x, length);
  const float sum = warp_sum(length, [&](std::int64_t i) { return y[i] = numerics::exp(x[i] - most); });
  each_in_row(length, [&](std::int64_t i) { y[i] = y[i] / sum; });
}

__global__ void softmax_gradient_rows(const float* y, const float* upstream, float* gradient, std::int64_t rows,
                                      std::int64_t length) {
  if (row() >= rows) return;
  y += row() * length;
  upstream += row() * length;
  gradient += row() * length;
  const float dot = warp_dot(
      length, [&](std::int64_t i) { return upstream[i]; }, [&](std::int64_t i) { return y[i]; });
  each_in_row(length, [&](std::int64_t i) { gradient[i] = y[i] * (upstream[i] - dot); });
}

}  // namespace

void softmax(View<const float> x, View<float> y) {
  launch<softmax_rows>("softmax", warp_per(row_count(x)), x.data, y.data, row_count(x), row_length(x));
}

void softmax_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  launch<softmax_gradient_rows>("softmax_gradient", warp_per(row_count(y)), y.data, upstream.data, gradient.data,
                                row_count(y), row_length(y));
}

}  // namespace assay::kernels::ASSAY_ISA
