// Subtraction, element by element.
#include "kernels/subtract.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace assay::kernels::ASSAY_ISA {

void subtract(View<const float> a, View<const float> b, View<float> result) {
  map(
      "subtract", [] __device__(float x, float y) { return x - y; }, result, a, b);
}

}  // namespace assay::kernels::ASSAY_ISA
