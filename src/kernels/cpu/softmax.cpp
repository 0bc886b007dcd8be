// Softmax, row by row.
#include "kernels/softmax.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void softmax(View<const float> x, View<float> y) {
  std::int64_t length = x.extent[x.rank - 1];
  if (length == 0) return;
  for_rows(size_of(x) / length, length, [=](std::int64_t row) {
    float* to = y.data + row * length;
    float sum = row_exponentials(x.data + row * length, length, to);
    for (std::int64_t i = 0; i < length; ++i) to[i] = to[i] / sum;
  });
}

void softmax_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  std::int64_t length = y.extent[y.rank - 1];
  if (length == 0) return;
  for_rows(size_of(y) / length, length, [=](std::int64_t row) {
    const float* value = y.data + row * length;
    const float* g = upstream.data + row * length;
    float* to = gradient.data + row * length;
    float dot = numerics::lane_dot(
        static_cast<std::size_t>(length), [=](std::size_t i) { return g[i]; }, [=](std::size_t i) { return value[i]; });
    for (std::int64_t i = 0; i < length; ++i) to[i] = value[i] * (g[i] - dot);
  });
}

}  // namespace assay::kernels::ASSAY_ISA
