// Division, element by element.
#include "kernels/divide.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace assay::kernels::ASSAY_ISA {

void divide(View<const float> a, View<const float> b, View<float> result) {
  map(
      "divide", [] __device__(float x, float y) { return x / y; }, result, a, b);
}

}  // namespace assay::kernels::ASSAY_ISA
