// Gaussian error linear unit, element by element.
#include "kernels/gelu.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/gelu.hpp"

namespace assay::kernels::ASSAY_ISA {

void gelu(View<const float> x, View<float> y) {
  map([](float value) { return numerics::gelu(value); }, y, x);
}

void gelu_gradient(View<const float> x, View<const float> upstream, View<float> gradient) {
  map([](float value, float g) { return numerics::gelu_gradient(value, g); }, gradient, x, upstream);
}

}  // namespace assay::kernels::ASSAY_ISA
