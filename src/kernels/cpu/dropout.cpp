// Dropout, element by element.
#include "kernels/dropout.hpp"

#include <bit>

#include "kernels/cpu/elementwise.hpp"

namespace assay::kernels::ASSAY_ISA {

void dropout(View<const float> x, View<const std::uint8_t> mask, double p, View<float> y) {
  auto scale = static_cast<float>(1 / (1 - p));
  map(
      [scale](float value, std::uint8_t kept) {
        // Selects on integers: GCC does not vectorise a choice between floats by a byte.
        const std::uint32_t keep = kept, bits = std::bit_cast<std::uint32_t>(value * scale);
        return std::bit_cast<float>(keep != 0 ? bits : 0);
      },
      y, x, mask);
}

}  // namespace assay::kernels::ASSAY_ISA
