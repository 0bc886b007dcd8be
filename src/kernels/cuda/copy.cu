// Copy, element by element.
#include "kernels/copy.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace assay::kernels::ASSAY_ISA {

void copy(View<const float> x, View<float> y) {
  map(
      "copy", [] __device__(float value) { return value; }, y, x);
}

}  // namespace assay::kernels::ASSAY_ISA
