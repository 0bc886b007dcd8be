// Product with a matrix in 4 bits a number under a hypothesis: one sum after the other.
#include "kernels/nf4_linear.hpp"

#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

// y[i, j] = Σ x[i, k]·number(k·depth_step + j·column_step) + bias[j].
void multiply_nf4(const View<const float>& x, const numerics::Nf4Numbers& numbers, std::int64_t depth_step,
                  std::int64_t column_step, const float* bias, const View<float>& y) {
  const auto depth = static_cast<std::size_t>(x.extent[1]);
  for (std::int64_t i = 0; i < y.extent[0]; ++i)
    for (std::int64_t j = 0; j < y.extent[1]; ++j) {
      const float sum = numerics::chain_dot(
          0, depth, [&](std::size_t k) { return x.data[i * x.extent[1] + static_cast<std::int64_t>(k)]; },
          [&](std::size_t k) { return numbers.number(static_cast<std::int64_t>(k) * depth_step + j * column_step); });
      y.data[i * y.extent[1] + j] = bias ? sum + bias[j] : sum;
    }
}

}  // namespace

void nf4_linear(View<const float> x, View<const std::uint8_t> codes, View<const std::uint8_t> scale_codes,
                View<const float> scales, std::int64_t block, View<const float> bias, View<float> y) {
  multiply_nf4(x, nf4_numbers(codes, scale_codes, scales, block), 1, x.extent[1], bias.data, y);
}

void nf4_linear_gradient(View<const float> upstream, View<const std::uint8_t> codes,
                         View<const std::uint8_t> scale_codes, View<const float> scales, std::int64_t block,
                         View<float> gradient) {
  multiply_nf4(upstream, nf4_numbers(codes, scale_codes, scales, block), gradient.extent[1], 1, nullptr, gradient);
}

}  // namespace assay::kernels::ASSAY_ISA
