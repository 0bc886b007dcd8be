// Cross entropy, a warp a row.
#include "kernels/cross_entropy.hpp"

#include "kernels/cuda/rows.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void cross_entropy_rows(View<const float> logits, View<const std::int32_t> labels, float keep, float spread,
                                   bool smooth, std::int32_t ignored, float* losses) {
  const std::int64_t r = row(), classes = logits.extent[1];
  if (r >= logits.extent[0]) return;
  const float* x = logits.data + r * classes;
  const std::int32_t label = labels.data[r * labels.stride[0]];
  if (label == ignored) {
    if (lane() == 0) losses[r] = 0;
    return;
  }
  const LogSoftmax log_softmax(x, classes);
  float loss = keep * -log_softmax.of(x[label]);
  if (smooth) loss = loss + spread * -warp_sum(classes, [&](std::int64_t i) { return log_softmax.of(x[i]); });
  if (lane() == 0) losses[r] = loss;
}

__global__ void cross_entropy_gradient_rows(View<const float> logits, View<const std::int32_t> labels, float keep,
                                            float spread, std::int32_t ignored, const float* scale, float* gradient) {
  const std::int64_t r = row(), classes = logits.extent[1];
  if (r >= logits.extent[0]) return;
  const float* x = logits.data + r * classes;
  float* to = gradient + r * classes;
  const std::int32_t label = labels.data[r * labels.stride[0]];
  if (label == ignored) {
    each_in_row(classes, [&](std::int64_t i) { to[i] = 0; });
    return;
  }
  const float most = row_maximum(x, classes);
  const float sum = warp_sum(classes, [&](std::int64_t i) { return to[i] = numerics::exp(x[i] - most); });
  each_in_row(classes, [&](std::int64_t i) {
    const float share = i == label ? keep + spread : spread;
    to[i] = (to[i] / sum - share) * *scale;
  });
}

}  // namespace

void cross_entropy(View<const float> logits, View<const std::int32_t> labels, double smoothing, std::int32_t ignored,
                   View<float> rows) {
  const auto keep = static_cast<float>(1 - smoothing);
  const auto spread = static_cast<float>(smoothing / static_cast<double>(logits.extent[1]));
  launch<cross_entropy_rows>("cross_entropy", warp_per(logits.extent[0]), logits, labels, keep, spread, smoothing > 0,
                             ignored, rows.data);
}

void cross_entropy_gradient(View<const float> logits, View<const std::int32_t> labels, double smoothing,
                            std::int32_t ignored, View<const float> scale, View<float> gradient) {
  const auto keep = static_cast<float>(1 - smoothing);
  const auto spread = static_cast<float>(smoothing / static_cast<double>(logits.extent[1]));
  launch<cross_entropy_gradient_rows>("cross_entropy_gradient", warp_per(logits.extent[0]), logits, labels, keep,
                                      spread, ignored, scale.data, gradient.data);
}

}  // namespace assay::kernels::ASSAY_ISA
