// Exponential function, element by element.
#include "kernels/exp.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/exp.hpp"

namespace assay::kernels::ASSAY_ISA {

void exp(View<const float> x, View<float> y) {
  map([](float value) { return numerics::exp(value); }, y, x);
}

}  // namespace assay::kernels::ASSAY_ISA
