// Logarithm of softmax, a warp a row.
#include "kernels/log_softmax.hpp"

#include "kernels/cuda/rows.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void log_softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t length) {
  if (row() >= rows) return;
  x += row() * length;
  y += row() * length;
  const LogSoftmax log_softmax(x, length);
  each_in_row(length, [&](std::int64_t i) { y[i] = log_softmax.of(x[i]); });
}

__global__ void log_softmax_gradient_rows(const float* y, const float* upstream, float* gradient, std::int64_t rows,
                                          std::int64_t length) {
  if (row() >= rows) return;
  y += row() * length;
  upstream += row() * length;
  gradient += row() * length;
  const float sum = warp_sum(length, [&](std::int64_t i) { return upstream[i]; });
  each_in_row(length, [&](std::int64_t i) { gradient[i] = upstream[i] - numerics::exp(y[i]) * sum; });
}

}  // namespace

void log_softmax(View<const float> x, View<float> y) {
  launch<log_softmax_rows>("log_softmax", warp_per(row_count(x)), x.data, y.data, row_count(x), row_length(x));
}

void log_softmax_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  launch<log_softmax_gradient_rows>("log_softmax_gradient", warp_per(row_count(y)), y.data, upstream.data,
                                    gradient.data, row_count(y), row_length(y));
}

}  // namespace assay::kernels::ASSAY_ISA
