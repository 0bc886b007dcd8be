// Squared error: one sum in lane order, and its gradient element by element.
#include "kernels/mean_squared_error.hpp"

#include "kernels/cuda/lanes.cuh"

namespace assay::kernels::ASSAY_ISA {

void squared_error(View<const float> x, View<const float> target, View<float> total) {
  auto step = [] __device__(float sum, float a, float b) { return numerics::multiply_add(a - b, a - b, sum); };
  lane_order_of_all("squared_error", step, total.data, x, target);
}

void squared_error_gradient(View<const float> x, View<const float> target, View<const float> scale,
                            View<float> gradient) {
  map(
      "squared_error_gradient", [] __device__(float a, float b, float s) { return (2.0f * (a - b)) * s; }, gradient, x,
      target, repeated(scale, x));
}

}  // namespace assay::kernels::ASSAY_ISA
