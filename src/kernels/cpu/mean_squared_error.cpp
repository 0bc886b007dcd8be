// Squared error: one sum in lane order, and its gradient element by element.
#include "kernels/mean_squared_error.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

void squared_error(View<const float> x, View<const float> target, View<float> total) {
  auto difference = [=](std::size_t i) { return x.data[i] - target.data[i]; };
  *total.data = numerics::lane_dot(static_cast<std::size_t>(size_of(x)), difference, difference);
}

void squared_error_gradient(View<const float> x, View<const float> target, View<const float> scale,
                            View<float> gradient) {
  float s = *scale.data;
  map([s](float a, float b) { return (2.0f * (a - b)) * s; }, gradient, x, target);
}

}  // namespace assay::kernels::ASSAY_ISA
