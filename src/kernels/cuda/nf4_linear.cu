// Product with a matrix in 4 bits a number: a block decodes a tile of it into shared memory, and every lane keeps a
// square of outputs in registers, each of them one ascending fma chain a block of 512 of the depth (N2).
#include "kernels/nf4_linear.hpp"

#include "kernels/cuda/launch.cuh"
#include "kernels/walk.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr int nf4_side = 32;                    // rows, columns and depths of a tile
constexpr int nf4_own = 4;                      // outputs of a lane, down and across
constexpr int nf4_across = nf4_side / nf4_own;  // lanes of a block, down and across
constexpr int nf4_lanes = nf4_across * nf4_across;
constexpr auto nf4_chain = static_cast<std::int64_t>(numerics::chain_block);

/// As the product of x and the packed matrix or, `turned`, the same with rows for columns; then + bias.
template <bool turned>
__global__ void multiply_nf4(const float* x, const std::uint8_t* codes, const std::uint8_t* scale_codes,
                             const float* scales, std::int64_t block, const float* bias, float* y, std::int64_t rows,
                             std::int64_t columns, std::int64_t depth) {
  SHARED(left, float[nf4_side][nf4_side + 1]);   // [k][row]
  SHARED(right, float[nf4_side][nf4_side + 1]);  // [k][column]
  const numerics::Nf4Numbers numbers{codes, scale_codes, scales, block};
  const std::int64_t across = (columns + nf4_side - 1) / nf4_side;
  const std::int64_t row = blockIdx.x / across * nf4_side, column = blockIdx.x % across * nf4_side;
  const int place = static_cast<int>(threadIdx.x);
  const int own_row = place / nf4_across * nf4_own, own_column = place % nf4_across * nf4_own;
  float total[nf4_own][nf4_own] = {}, sum[nf4_own][nf4_own] = {};
  for (std::int64_t k = 0; k < depth; k += nf4_side) {
    const int count = depth - k < nf4_side ? static_cast<int>(depth - k) : nf4_side;
    for (int i = place; i < nf4_side * nf4_side; i += nf4_lanes) {
      const int line = i / nf4_side, at = i % nf4_side;  // lanes side by side read side by side
      left[at][line] = row + line < rows && at < count ? x[(row + line) * depth + k + at] : 0.0f;
      const int own_k = turned ? at : line, own = turned ? line : at;
      const std::int64_t index = turned ? (column + own) * depth + k + own_k : (k + own_k) * columns + column + own;
      right[own_k][own] = column + own < columns && own_k < count ? numbers.number(index) : 0.0f;
    }
    __syncthreads();
    for (int d = 0; d < count; ++d) {
      UNROLL
      for (int i = 0; i < nf4_own; ++i) UNROLL
      for (int j = 0; j < nf4_own; ++j)
        sum[i][j] = numerics::fma(left[d][own_row + i], right[d][own_column + j], sum[i][j]);
    }
    __syncthreads();
    if ((k + nf4_side) % nf4_chain != 0 && k + nf4_side < depth) continue;
    UNROLL
    for (int i = 0; i < nf4_own; ++i) UNROLL
    for (int j = 0; j < nf4_own; ++j) {
      total[i][j] = k < nf4_chain ? sum[i][j] : total[i][j] + sum[i][j];
      sum[i][j] = 0;
    }
  }
  UNROLL
  for (int i = 0; i < nf4_own; ++i) UNROLL
  for (int j = 0; j < nf4_own; ++j) {
    const std::int64_t at_row = row + own_row + i, at_column = column + own_column + j;
    if (at_row >= rows || at_column >= columns) continue;
    y[at_row * columns + at_column] = bias ? total[i][j] + bias[at_column] : total[i][j];
  }
}

template <bool turned>
void launch_nf4(const char* name, const View<const float>& x, const numerics::Nf4Numbers& numbers, const float* bias,
                const View<float>& y) {
  const std::int64_t rows = y.extent[0], columns = y.extent[1];
  auto tiles = [](std::int64_t extent) { return (extent + nf4_side - 1) / nf4_side; };
  launch<multiply_nf4<turned>>(name, Grid{tiles(rows) * tiles(columns), nf4_lanes, true}, x.data, numbers.codes,
                               numbers.scale_codes, numbers.scales, numbers.block, bias, y.data, rows, columns,
                               x.extent[1]);
}

}  // namespace

void nf4_linear(View<const float> x, View<const std::uint8_t> codes, View<const std::uint8_t> scale_codes,
                View<const float> scales, std::int64_t block, View<const float> bias, View<float> y) {
  launch_nf4<true>("nf4_linear", x, nf4_numbers(codes, scale_codes, scales, block), bias.data, y);
}

void nf4_linear_gradient(View<const float> upstream, View<const std::uint8_t> codes,
                         View<const std::uint8_t> scale_codes, View<const float> scales, std::int64_t block,
                         View<float> gradient) {
  launch_nf4<false>("nf4_linear_gradient", upstream, nf4_numbers(codes, scale_codes, scales, block), nullptr, gradient);
}

}  // namespace assay::kernels::ASSAY_ISA
