// Cross entropy, row by row.
#include "kernels/cross_entropy.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void cross_entropy(View<const float> logits, View<const std::int32_t> labels, double smoothing, std::int32_t ignored,
                   View<float> rows) {
  std::int64_t classes = logits.extent[1];
  auto keep = static_cast<float>(1 - smoothing), spread = static_cast<float>(smoothing / static_cast<double>(classes));
  for_rows(logits.extent[0], classes, [=](std::int64_t row) {
    const float* x = logits.data + row * classes;
    std::int32_t label = labels.data[row * labels.stride[0]];
    rows.data[row] = 0;
    if (label == ignored) return;
    LogSoftmax log_softmax = row_log_softmax(x, classes);
    float loss = keep * -log_softmax(x[label]);
    if (smoothing > 0) {
      float sum =
          numerics::lane_sum(static_cast<std::size_t>(classes), [=](std::size_t c) { return log_softmax(x[c]); });
      loss = loss + spread * -sum;
    }
    rows.data[row] = loss;
  });
}

void cross_entropy_gradient(View<const float> logits, View<const std::int32_t> labels, double smoothing,
                            std::int32_t ignored, View<const float> scale, View<float> gradient) {
  std::int64_t classes = logits.extent[1];
  auto keep = static_cast<float>(1 - smoothing), spread = static_cast<float>(smoothing / static_cast<double>(classes));
  for_rows(logits.extent[0], classes, [=](std::int64_t row) {
    float* to = gradient.data + row * classes;
    std::int32_t label = labels.data[row * labels.stride[0]];
    if (label == ignored) {
      for (std::int64_t c = 0; c < classes; ++c) to[c] = 0;
      return;
    }
    float sum = row_exponentials(logits.data + row * classes, classes, to), s = *scale.data;
    float on_label = (to[label] / sum - (keep + spread)) * s;
    for (std::int64_t c = 0; c < classes; ++c) to[c] = (to[c] / sum - spread) * s;
    to[label] = on_label;
  });
}

}  // namespace assay::kernels::ASSAY_ISA
