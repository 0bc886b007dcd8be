// Sum of squares in binary64, and the factor to shorten by.
#include "kernels/squared_norm.hpp"

#include "kernels/cuda/lanes.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void factor_of_norm(const std::uint64_t* squares, std::int64_t count, double limit, float* factor) {
  *factor = static_cast<float>(numerics::norm_factor(squares, static_cast<std::size_t>(count), limit));
}

}  // namespace

void squared_norm(View<const float> x, View<std::uint64_t> slot) {
  auto step = [] __device__(double sum, float value) {
    return numerics::multiply_add(static_cast<double>(value), static_cast<double>(value), sum);
  };
  lane_order_of_all("squared_norm", step, reinterpret_cast<double*>(slot.data), x);
}

void norm_factor(View<const std::uint64_t> squares, double limit, View<float> factor) {
  launch<factor_of_norm>("norm_factor", Grid{1, 1}, squares.data, squares.extent[0], limit, factor.data);
}

}  // namespace assay::kernels::ASSAY_ISA
