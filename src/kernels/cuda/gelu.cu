// Gaussian error linear unit, element by element.
#include "kernels/gelu.hpp"

#include "kernels/cuda/elementwise.cuh"
#include "numerics/gelu.hpp"

namespace assay::kernels::ASSAY_ISA {

void gelu(View<const float> x, View<float> y) {
  map(
      "gelu", [] __device__(float value) { return numerics::gelu(value); }, y, x);
}

void gelu_gradient(View<const float> x, View<const float> upstream, View<float> gradient) {
  map(
      "gelu_gradient", [] __device__(float value, float g) { return numerics::gelu_gradient(value, g); }, gradient, x,
      upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
