// Hyperbolic tangent, element by element.
#include "kernels/tanh.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/tanh.hpp"

namespace assay::kernels::ASSAY_ISA {

void tanh(View<const float> x, View<float> y) {
  map([](float value) { return numerics::tanh(value); }, y, x);
}

void tanh_gradient(View<const float> y, View<const float> upstream, View<float> gradient) {
  map([](float value, float g) { return g * (1.0f - value * value); }, gradient, y, upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
