// Stochastic gradient descent, element by element; whether its results are finite is a sum of integers.
#include "kernels/sgd.hpp"

#include "kernels/cuda/count.cuh"
#include "kernels/cuda/elementwise.cuh"
#include "numerics/sgd.hpp"

namespace assay::kernels::ASSAY_ISA {

void sgd_is_finite(View<const float> w, View<const float> u, View<const float> g, SgdScalars scalars,
                   View<std::uint64_t> slot) {
  auto is_not_finite = [scalars] __device__(std::int64_t, float weight, float velocity,
                                            float gradient) -> std::uint64_t {
    const auto e = numerics::sgd(weight, velocity, gradient, scalars);
    return !(numerics::is_finite(e.w) && numerics::is_finite(e.u));
  };
  count("sgd_is_finite", is_not_finite, IsNone(), slot, w, u, g);
}

void sgd(View<float> w, View<float> u, View<const float> g, SgdScalars scalars, View<const std::uint64_t> go) {
  for_each(
      "sgd",
      [scalars] __device__(std::int64_t, float& weight, float& velocity, float gradient, std::uint64_t all_finite) {
        if (all_finite != 1) return;
        const auto e = numerics::sgd(weight, velocity, gradient, scalars);
        weight = e.w;
        velocity = e.u;
      },
      w, u, g, repeated(go, w));
}

}  // namespace assay::kernels::ASSAY_ISA
