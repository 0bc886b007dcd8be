// Adam, element by element; whether its results are finite is a sum of integers.
#include "kernels/adam.hpp"

#include "kernels/cuda/count.cuh"
#include "kernels/cuda/elementwise.cuh"
#include "numerics/adam.hpp"

namespace assay::kernels::ASSAY_ISA {

void adam_is_finite(View<const float> w, View<const float> m, View<const float> v, View<const float> g,
                    AdamScalars scalars, bool first, View<std::uint64_t> slot) {
  auto is_not_finite = [scalars] __device__(std::int64_t, float weight, float first_moment, float second_moment,
                                            float gradient) -> std::uint64_t {
    const auto e = numerics::adam(weight, first_moment, second_moment, gradient, scalars);
    return !(numerics::is_finite(e.w) && numerics::is_finite(e.m) && numerics::is_finite(e.v));
  };
  auto judge = [first] __device__(std::uint64_t not_finite, std::uint64_t before) -> std::uint64_t {
    return not_finite == 0 && (first || before == 1);
  };
  count("adam_is_finite", is_not_finite, judge, slot, w, m, v, g);
}

void adam(View<float> w, View<float> m, View<float> v, View<const float> g, AdamScalars scalars,
          View<const std::uint64_t> go) {
  for_each(
      "adam",
      [scalars] __device__(std::int64_t, float& weight, float& first, float& second, float gradient,
                           std::uint64_t all_finite) {
        if (all_finite != 1) return;
        const auto e = numerics::adam(weight, first, second, gradient, scalars);
        weight = e.w;
        first = e.m;
        second = e.v;
      },
      w, m, v, g, repeated(go, w));
}

}  // namespace assay::kernels::ASSAY_ISA
