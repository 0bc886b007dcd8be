// Multiplication, element by element.
#include "kernels/multiply.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace assay::kernels::ASSAY_ISA {

void multiply(View<const float> a, View<const float> b, View<float> result) {
  map(
      "multiply", [] __device__(float x, float y) { return x * y; }, result, a, b);
}

}  // namespace assay::kernels::ASSAY_ISA
