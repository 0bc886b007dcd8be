// Hyperbolic tangent, element by element.
#include "kernels/tanh.hpp"

#include "kernels/cuda/elementwise.cuh"
#include "numerics/tanh.hpp"

namespace assay::kernels::ASSAY_ISA {

void tanh(View<const float> x, View<float> y) {
  map(
      "tanh", [] __device__(float value) { return numerics::tanh(value); }, y, x);
}

void tanh_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  map(
      "tanh_gradient", [] __device__(float value, float g) { return g * (1.0f - value * value); }, gradient, y,
      upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
