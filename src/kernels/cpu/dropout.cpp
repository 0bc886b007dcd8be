// Dropout, element by element.
#include "kernels/dropout.hpp"

#include "kernels/cpu/elementwise.hpp"

namespace assay::kernels::ASSAY_ISA {

void dropout(View<const float> x, View<const std::uint8_t> mask, double p, View<float> y) {
  auto scale = static_cast<float>(1 / (1 - p));
  map([scale](float value, std::uint8_t kept) { return kept != 0 ? value * scale : 0.0f; }, y, x, mask);
}

}  // namespace assay::kernels::ASSAY_ISA
