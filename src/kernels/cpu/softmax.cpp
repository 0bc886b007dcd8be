// Softmax, row by row.
#include "kernels/softmax.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void softmax(View<const float> x, View<float> y) {
  std::int64_t length = x.extent[x.rank - 1];
  if (length == 0) return;
  for_row_groups(size_of(x) / length, length, [=](std::int64_t first, std::int64_t rows, float* exponentials) {
    rows_exponentials(x.data + first * length, rows, length, exponentials);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = exponentials + row * length;
      float* to = y.data + (first + row) * length;
      for_vectors(length, [=, sum = broadcast(row_sum(from, length))](std::int64_t i, auto... mask) {
        store(to + i, divide(load(from + i, mask...), sum), mask...);
      });
    }
  });
}

void softmax_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  std::int64_t length = y.extent[y.rank - 1];
  if (length == 0) return;
  for_rows(size_of(y) / length, length, [=](std::int64_t row) {
    const float* value = y.data + row * length;
    const float* g = upstream.data + row * length;
    float* to = gradient.data + row * length;
    for_vectors(length, [=, dot = broadcast(row_dot(g, value, length))](std::int64_t i, auto... mask) {
      store(to + i, multiply(load(value + i, mask...), subtract(load(g + i, mask...), dot)), mask...);
    });
  });
}

}  // namespace assay::kernels::ASSAY_ISA
