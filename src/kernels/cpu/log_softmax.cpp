// Logarithm of softmax, row by row.
#include "kernels/log_softmax.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void log_softmax(View<const float> x, View<float> y) {
  std::int64_t length = x.extent[x.rank - 1];
  if (length == 0) return;
  for_rows(size_of(x) / length, length, [=](std::int64_t row) {
    const float* from = x.data + row * length;
    float* to = y.data + row * length;
    LogSoftmax log_softmax = row_log_softmax(from, length);
    for (std::int64_t i = 0; i < length; ++i) to[i] = log_softmax(from[i]);
  });
}

void log_softmax_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  std::int64_t length = y.extent[y.rank - 1];
  if (length == 0) return;
  for_rows(size_of(y) / length, length, [=](std::int64_t row) {
    const float* value = y.data + row * length;
    const float* g = upstream.data + row * length;
    float* to = gradient.data + row * length;
    float sum = numerics::lane_sum(static_cast<std::size_t>(length), [=](std::size_t i) { return g[i]; });
    for (std::int64_t i = 0; i < length; ++i) to[i] = g[i] - numerics::exp(value[i]) * sum;
  });
}

}  // namespace assay::kernels::ASSAY_ISA
