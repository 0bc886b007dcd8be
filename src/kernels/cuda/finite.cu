// Whether a tensor is finite.
#include "kernels/finite.hpp"

#include "kernels/cuda/count.cuh"

namespace assay::kernels::ASSAY_ISA {

void finite(View<const float> x, View<std::uint64_t> slot) {
  auto is_not_finite = [] __device__(std::int64_t, float value) -> std::uint64_t {
    return !numerics::is_finite(value);
  };
  count("finite", is_not_finite, IsNone(), slot, x);
}

}  // namespace assay::kernels::ASSAY_ISA
