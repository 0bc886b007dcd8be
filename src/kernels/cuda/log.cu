// Natural logarithm, element by element.
#include "kernels/log.hpp"

#include "kernels/cuda/elementwise.cuh"
#include "numerics/log.hpp"

namespace assay::kernels::ASSAY_ISA {

void log(View<const float> x, View<float> y) {
  map(
      "log", [] __device__(float value) { return numerics::log(value); }, y, x);
}

}  // namespace assay::kernels::ASSAY_ISA
