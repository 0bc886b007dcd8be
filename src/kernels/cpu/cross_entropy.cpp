// Cross entropy, row by row.
#include "kernels/cross_entropy.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void cross_entropy(View<const float> logits, View<const std::int32_t> labels, double smoothing, std::int32_t ignored,
                   View<float> rows) {
  std::int64_t classes = logits.extent[1];
  auto keep = static_cast<float>(1 - smoothing), spread = static_cast<float>(smoothing / static_cast<double>(classes));
  for_row_groups(logits.extent[0], classes, [=](std::int64_t first, std::int64_t number, float* scratch) {
    const float* x = logits.data + first * classes;
    const LogSoftmax log_softmax(x, number, classes, scratch);
    for (std::int64_t row = 0; row < number; ++row, x += classes) {
      std::int32_t label = labels.data[(first + row) * labels.stride[0]];
      rows.data[first + row] = 0;
      if (label == ignored) continue;
      float loss = keep * -log_softmax.of(row, x[label]);
      if (smoothing > 0) {
        log_softmax.of(row, x, classes, scratch);
        loss = loss + spread * -row_sum(scratch, classes);
      }
      rows.data[first + row] = loss;
    }
  });
}

void cross_entropy_gradient(View<const float> logits, View<const std::int32_t> labels, double smoothing,
                            std::int32_t ignored, View<const float> scale, View<float> gradient) {
  std::int64_t classes = logits.extent[1];
  auto keep = static_cast<float>(1 - smoothing), spread = static_cast<float>(smoothing / static_cast<double>(classes));
  for_row_groups(logits.extent[0], classes, [=](std::int64_t first, std::int64_t number, float* exponentials) {
    const float s = *scale.data;
    rows_exponentials(logits.data + first * classes, number, classes, exponentials);
    for (std::int64_t row = 0; row < number; ++row) {
      const float* from = exponentials + row * classes;
      float* to = gradient.data + (first + row) * classes;
      std::int32_t label = labels.data[(first + row) * labels.stride[0]];
      if (label == ignored) {
        for_vectors(classes, [=](std::int64_t i, auto... mask) { store(to + i, zero(), mask...); });
        continue;
      }
      const float sum = row_sum(from, classes);
      for_vectors(classes, [=, sums = broadcast(sum), spreads = broadcast(spread), scales = broadcast(s)](
                               std::int64_t i, auto... mask) {
        store(to + i, multiply(subtract(divide(load(from + i, mask...), sums), spreads), scales), mask...);
      });
      to[label] = (from[label] / sum - (keep + spread)) * s;
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
