// Maximum over the last axis, a warp a row.
#include "kernels/maximum.hpp"

#include "kernels/cuda/rows.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void maximum_rows(const float* x, float* y, std::int64_t rows, std::int64_t length) {
  if (row() >= rows) return;
  const float most = row_maximum(x + row() * length, length);
  if (lane() == 0) y[row()] = most;
}

__global__ void maximum_gradient_rows(const float* x, const float* upstream, float* gradient, std::int64_t rows,
                                      std::int64_t length) {
  if (row() >= rows) return;
  const std::int64_t at = row_argmax(x + row() * length, length);
  each_in_row(length, [&](std::int64_t i) { gradient[row() * length + i] = i == at ? upstream[row()] : 0; });
}

}  // namespace

void maximum(View<const float> x, View<float> y) {
  launch<maximum_rows>("maximum", warp_per(row_count(x)), x.data, y.data, row_count(x), row_length(x));
}

void maximum_gradient(View<const float> x, View<const float> upstream, View<float> gradient) {
  launch<maximum_gradient_rows>("maximum_gradient", warp_per(row_count(x)), x.data, upstream.data, gradient.data,
                                row_count(x), row_length(x));
}

}  // namespace assay::kernels::ASSAY_ISA
