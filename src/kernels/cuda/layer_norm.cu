// Layer normalisation, a warp a row; the gradient by scale, a lane a column.
#include "kernels/layer_norm.hpp"

#include "kernels/cuda/chains.cuh"
#include "kernels/cuda/rows.cuh"
#include "numerics/rsqrt.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void layer_norm_rows(const float* x, const float* scale, const float* bias, float epsilon, std::int64_t rows,
                                std::int64_t length, float* statistics, float* y) {
  const std::int64_t r = row();
  if (r >= rows) return;
  x += r * length;
  y += r * length;
  const auto elements = static_cast<float>(length);
  const float mean = warp_sum(length, [&](std::int64_t i) { return x[i]; }) / elements;
  const auto centred = [&](std::int64_t i) { return x[i] - mean; };
  const float reciprocal = numerics::rsqrt(warp_dot(length, centred, centred) / elements + epsilon);
  each_in_row(length, [&](std::int64_t i) { y[i] = numerics::fma(centred(i) * reciprocal, scale[i], bias[i]); });
  if (lane() != 0) return;
  statistics[r] = mean;
  statistics[rows + r] = reciprocal;
}

__global__ void layer_norm_gradient_rows(const float* x, const float* statistics, const float* scale,
                                         const float* upstream, std::int64_t rows, std::int64_t length,
                                         float* gradient) {
  const std::int64_t r = row();
  if (r >= rows) return;
  x += r * length;
  upstream += r * length;
  gradient += r * length;
  const float mean = statistics[r], reciprocal = statistics[rows + r], elements = static_cast<float>(length);
  const auto g = [&](std::int64_t i) { return upstream[i] * scale[i]; };
  const auto n = [&](std::int64_t i) { return (x[i] - mean) * reciprocal; };
  const float a = warp_sum(length, g) / elements, b = warp_dot(length, g, n) / elements;
  each_in_row(length, [&](std::int64_t i) { gradient[i] = reciprocal * ((g(i) - a) - n(i) * b); });
}

/// A lane for each block of 512 rows of each column: parts[block][column].
__global__ void layer_norm_columns(const float* x, const float* statistics, const float* upstream, std::int64_t rows,
                                   std::int64_t length, float* parts) {
  const std::int64_t column = element() % length, begin = element() / length * chain_block;
  if (begin >= rows && begin > 0) return;
  const std::int64_t end = begin + chain_block < rows ? begin + chain_block : rows;
  float sum = 0;
  for (std::int64_t r = begin; r < end; ++r) {
    const float n = (x[r * length + column] - statistics[r]) * statistics[rows + r];
    sum = numerics::fma(upstream[r * length + column], n, sum);
  }
  parts[element()] = sum;
}

}  // namespace

void layer_norm(View<const float> x, View<const float> scale, View<const float> bias, double epsilon,
                View<float> statistics, View<float> y) {
  const std::int64_t rows = statistics.extent[1];
  launch<layer_norm_rows>("layer_norm", warp_per(rows), x.data, scale.data, bias.data, static_cast<float>(epsilon),
                          rows, scale.extent[0], statistics.data, y.data);
}

void layer_norm_gradient(View<const float> x, View<const float> statistics, View<const float> scale,
                         View<const float> upstream, View<float> gradient) {
  const std::int64_t rows = statistics.extent[1];
  launch<layer_norm_gradient_rows>("layer_norm_gradient", warp_per(rows), x.data, statistics.data, scale.data,
                                   upstream.data, rows, scale.extent[0], gradient.data);
}

void layer_norm_scale_gradient(View<const float> x, View<const float> statistics, View<const float> upstream,
                               View<float> gradient) {
  const std::int64_t rows = statistics.extent[1], length = gradient.extent[0];
  chain_order("layer_norm_scale_gradient", length, rows, gradient.data, [&](const Grid& grid, float* parts) {
    launch<layer_norm_columns>("layer_norm_scale_gradient", grid, x.data, statistics.data, upstream.data, rows, length,
                               parts);
  });
}

}  // namespace assay::kernels::ASSAY_ISA
