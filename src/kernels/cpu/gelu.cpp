// Gaussian error linear unit, element by element.
#include "kernels/gelu.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/gelu.hpp"

namespace assay::kernels::ASSAY_ISA {

void gelu(View<const float> x, View<float> below, View<float> y) {
  for_each_run(
      [](std::int64_t, std::int64_t count, auto values, auto chances, auto from) {
        for (std::int64_t i = 0; i < count; ++i) {
          const numerics::Gelu at = numerics::gelu(from[i]);
          values[i] = at.value;
          chances[i] = at.below;
        }
      },
      y, below, x);
}

void gelu_gradient(View<const float> x, View<const float> below, View<const float> upstream, View<float> gradient) {
  map([](float value, float chance, float g) { return numerics::gelu_gradient(value, chance, g); }, gradient, x, below,
      upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
