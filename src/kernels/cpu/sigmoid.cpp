// Logistic sigmoid, element by element.
#include "kernels/sigmoid.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/sigmoid.hpp"

namespace assay::kernels::ASSAY_ISA {

void sigmoid(View<const float> x, View<float> y) {
  map([](float value) { return numerics::sigmoid(value); }, y, x);
}

void sigmoid_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  map([](float value, float g) { return g * (value * (1.0f - value)); }, gradient, y, upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
