// Squared error: one sum in lane order, and its gradient element by element.
#include "kernels/mean_squared_error.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "kernels/cpu/lanes.hpp"

namespace assay::kernels::ASSAY_ISA {

void squared_error(View<const float> x, View<const float> target, View<float> total) {
  *total.data = parallel_lane_chunks(size_of(x), [a = x.data, b = target.data](std::size_t begin, std::size_t count) {
    return numerics::lane_chunk_squares(begin, count, [=](std::size_t i) { return a[i] - b[i]; });
  });
}

void squared_error_gradient(View<const float> x, View<const float> target, View<const float> scale,
                            View<float> gradient) {
  float s = *scale.data;
  map([s](float a, float b) { return (2.0f * (a - b)) * s; }, gradient, x, target);
}

}  // namespace assay::kernels::ASSAY_ISA
