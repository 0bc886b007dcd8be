// Dropout, element by element.
#include "kernels/dropout.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace assay::kernels::ASSAY_ISA {

void dropout(View<const float> x, View<const std::uint8_t> mask, double p, View<float> y) {
  const auto scale = static_cast<float>(1 / (1 - p));
  map(
      "dropout", [scale] __device__(float value, std::uint8_t kept) { return kept != 0 ? value * scale : 0.0f; }, y, x,
      mask);
}

}  // namespace assay::kernels::ASSAY_ISA
