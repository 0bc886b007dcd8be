// RMSProp, element by element; whether its results are finite is a sum of integers.
#include "rmsprop.hpp"

#include "kernels/cuda/count.cuh"
#include "kernels/cuda/elementwise.cuh"

namespace example::ASSAY_ISA {

using namespace assay;
using namespace assay::kernels::ASSAY_ISA;

namespace {

struct Result {
  float w, v;
};

__device__ Result result(float w, float v, float g, const RmsPropScalars& s) {
  const float next = s.decay * v + (1 - s.decay) * g * g;
  return {w - s.rate * g / (numerics::square_root(next) + s.epsilon), next};
}

}  // namespace

void rmsprop_is_finite(View<const float> w, View<const float> v, View<const float> g, RmsPropScalars scalars,
                       View<std::uint64_t> slot) {
  auto is_not_finite = [scalars] __device__(std::int64_t, float weight, float square, float gradient) -> std::uint64_t {
    const Result to = result(weight, square, gradient, scalars);
    return !(numerics::is_finite(to.w) && numerics::is_finite(to.v));
  };
  count("rmsprop_is_finite", is_not_finite, IsNone(), slot, w, v, g);
}

void rmsprop(View<float> w, View<float> v, View<const float> g, RmsPropScalars scalars, View<const std::uint64_t> go) {
  for_each(
      "rmsprop",
      [scalars] __device__(std::int64_t, float& weight, float& square, float gradient, std::uint64_t all_finite) {
        if (all_finite != 1) return;
        const Result to = result(weight, square, gradient, scalars);
        weight = to.w;
        square = to.v;
      },
      w, v, g, repeated(go, w));
}

}  // namespace example::ASSAY_ISA
