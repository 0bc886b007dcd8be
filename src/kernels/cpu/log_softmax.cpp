// Logarithm of softmax, row by row.
#include "kernels/log_softmax.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void log_softmax(View<const float> x, View<float> y) {
  std::int64_t length = x.extent[x.rank - 1];
  if (length == 0) return;
  for_row_groups(size_of(x) / length, length, [=](std::int64_t first, std::int64_t rows, float* scratch) {
    const float* from = x.data + first * length;
    float* to = y.data + first * length;
    const LogSoftmax log_softmax(from, rows, length, scratch);
    for (std::int64_t row = 0; row < rows; ++row, from += length, to += length) log_softmax.of(row, from, length, to);
  });
}

void log_softmax_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  std::int64_t length = y.extent[y.rank - 1];
  if (length == 0) return;
  for_row_groups(size_of(y) / length, length, [=](std::int64_t first, std::int64_t rows, float* shares) {
    const float* value = y.data + first * length;
    for (std::int64_t i = 0; i < rows * length; ++i) shares[i] = numerics::exp(value[i]);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float *g = upstream.data + (first + row) * length, *share = shares + row * length;
      float* to = gradient.data + (first + row) * length;
      for_vectors(length, [=, sum = broadcast(row_sum(g, length))](std::int64_t i, auto... mask) {
        store(to + i, subtract(load(g + i, mask...), multiply(load(share + i, mask...), sum)), mask...);
      });
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
