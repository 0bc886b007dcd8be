// Multiplication by a scalar, element by element.
#include "kernels/scale.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace assay::kernels::ASSAY_ISA {

void scale(View<const float> x, float factor, View<float> y) {
  map(
      "scale", [factor] __device__(float value) { return value * factor; }, y, x);
}

}  // namespace assay::kernels::ASSAY_ISA
