// Gaussian error linear unit, element by element.
#include "kernels/gelu.hpp"

#include "kernels/cuda/elementwise.cuh"
#include "numerics/gelu.hpp"

namespace assay::kernels::ASSAY_ISA {

void gelu(View<const float> x, View<float> below, View<float> y) {
  for_each(
      "gelu",
      [] __device__(std::int64_t, float& value, float& chance, float from) {
        const numerics::Gelu at = numerics::gelu(from);
        value = at.value;
        chance = at.below;
      },
      y, below, x);
}

void gelu_gradient(View<const float> x, View<const float> below, View<const float> upstream, View<float> gradient) {
  map(
      "gelu_gradient",
      [] __device__(float value, float chance, float g) { return numerics::gelu_gradient(value, chance, g); }, gradient,
      x, below, upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
