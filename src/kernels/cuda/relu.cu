// Rectifier, element by element.
#include "kernels/relu.hpp"

#include "kernels/cuda/elementwise.cuh"
#include "numerics/arithmetic.hpp"

namespace assay::kernels::ASSAY_ISA {

void relu(View<const float> x, View<float> y) {
  map(
      "relu", [] __device__(float value) { return numerics::relu(value); }, y, x);
}

void relu_gradient(View<const float> x, View<const float> upstream, View<float> gradient) {
  map(
      "relu_gradient", [] __device__(float value, float g) { return numerics::relu_gradient(value, g); }, gradient, x,
      upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
