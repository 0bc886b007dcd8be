// Logistic sigmoid, element by element.
#include "kernels/sigmoid.hpp"

#include "kernels/cuda/elementwise.cuh"
#include "numerics/sigmoid.hpp"

namespace assay::kernels::ASSAY_ISA {

void sigmoid(View<const float> x, View<float> y) {
  map(
      "sigmoid", [] __device__(float value) { return numerics::sigmoid(value); }, y, x);
}

void sigmoid_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  map(
      "sigmoid_gradient", [] __device__(float value, float g) { return g * (value * (1.0f - value)); }, gradient, y,
      upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
