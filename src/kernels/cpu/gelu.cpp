// Gaussian error linear unit, element by element.
#include "kernels/gelu.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/erf.hpp"
#include "numerics/exp.hpp"

namespace assay::kernels::ASSAY_ISA {

void gelu(View<const float> x, View<float> y) {
  map([](float value) { return (0.5f * value) * (1.0f + numerics::erf(value * 0x1.6a09e6p-1f)); }, y, x);
}

void gelu_gradient(View<const float> x, View<const float> upstream, View<float> gradient) {
  map(
      [](float value, float g) {
        float below = 0.5f * (1.0f + numerics::erf(value * 0x1.6a09e6p-1f));
        float density = 0x1.988454p-2f * numerics::exp(-0.5f * (value * value));
        return g * (below + value * density);
      },
      gradient, x, upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
