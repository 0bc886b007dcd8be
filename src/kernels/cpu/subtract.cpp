// Subtraction, element by element.
#include "kernels/subtract.hpp"

#include "kernels/cpu/elementwise.hpp"

namespace assay::kernels::ASSAY_ISA {

void subtract(View<const float> a, View<const float> b, View<float> result) {
  map([](float x, float y) { return x - y; }, result, a, b);
}

}  // namespace assay::kernels::ASSAY_ISA
