// Exponential function, element by element.
#include "kernels/exp.hpp"

#include "kernels/cuda/elementwise.cuh"
#include "numerics/exp.hpp"

namespace assay::kernels::ASSAY_ISA {

void exp(View<const float> x, View<float> y) {
  map(
      "exp", [] __device__(float value) { return numerics::exp(value); }, y, x);
}

}  // namespace assay::kernels::ASSAY_ISA
