// Product with a matrix in 4 bits a number: a strip of it, one block of the depth deep, is decoded into scratch in the
// layout of the tiles of the matrix product, and every tile of rows uses it.
#include "kernels/nf4_linear.hpp"

#include "device/cpu/scratch.hpp"
#include "kernels/cpu/matmul_parts.hpp"
#include "kernels/cpu/matmul_tile.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr auto depth_of_panel = static_cast<std::int64_t>(numerics::chain_block);

// Numbers first … first + count − 1.
void decode(const numerics::Nf4Numbers& numbers, std::int64_t first, std::int64_t count, float* to) {
  for (const std::int64_t last = first + count; first < last;) {
    const std::int64_t number = first / numbers.block, end = (number + 1) * numbers.block;
    const std::int64_t stop = end < last ? end : last;
    const float scale = numbers.scale(number);
    if (first % 2 == 1) *to++ = numerics::nf4_number(numbers.code(first++)) * scale;
    const std::uint8_t* pairs = numbers.codes + first / 2;
    for (; first + 2 <= stop; first += 2, to += 2, ++pairs) {
      to[0] = numerics::nf4_number(*pairs & 15u) * scale;
      to[1] = numerics::nf4_number(*pairs >> 4u) * scale;
    }
    if (first < stop) *to++ = numerics::nf4_number(numbers.code(first++)) * scale;
  }
}

// y = x·right, right being the packed matrix or, `turned`, the same with rows for columns; then + bias.
template <bool turned>
void multiply_nf4(const View<const float>& x, const numerics::Nf4Numbers& numbers, View<const float> bias,
                  const View<float>& y) {
  const std::int64_t rows = y.extent[0], columns = y.extent[1], depth = x.extent[1];
  const std::int64_t strips = (columns + tile_columns - 1) / tile_columns, tiles = (rows + tile_rows - 1) / tile_rows;
  constexpr std::int64_t panel_floats = depth_of_panel * tile_columns;
  constexpr std::int64_t products_per_thread = 1 << 18;
  if (rows == 0) return;
  parallel_for(
      strips, 1 + products_per_thread / (tile_columns * rows * (depth + 1)), [&](std::int64_t begin, std::int64_t end) {
        float* panel = static_cast<float*>(thread_scratch((turned ? 2 : 1) * panel_floats * sizeof(float)));
        float* lines = panel + panel_floats;  // rows of the matrix, before they become columns
        for (std::int64_t column = begin * tile_columns; column < end * tile_columns; column += tile_columns) {
          const std::int64_t width = columns - column < tile_columns ? columns - column : tile_columns;
          for (std::int64_t k = 0; k < depth; k += depth_of_panel) {
            const std::int64_t count = depth - k < depth_of_panel ? depth - k : depth_of_panel;
            if constexpr (turned) {
              for (std::int64_t j = 0; j < width; ++j)
                decode(numbers, (column + j) * depth + k, count, lines + j * depth_of_panel);
              pack_right({lines, 2, {count, width}, {1, depth_of_panel}}, panel);
            } else {
              for (std::int64_t i = 0; i < count; ++i)
                decode(numbers, (k + i) * columns + column, width, panel + i * tile_columns);
            }
            for (std::int64_t t = 0; t < tiles; ++t) {
              const std::int64_t row = first_row(t, rows, tiles), height = first_row(t + 1, rows, tiles) - row;
              multiply_tile(count, true, {x.data + row * depth + k, depth}, {panel, tile_columns},
                            y.data + row * columns + column, columns, k == 0 ? Into::store : Into::add, height, width);
            }
          }
          if (bias.data)
            for (std::int64_t row = 0; row < rows; ++row)
              for (std::int64_t j = column; j < column + width; ++j)
                y.data[row * columns + j] = y.data[row * columns + j] + bias.data[j];
        }
      });
}

}  // namespace

void nf4_linear(View<const float> x, View<const std::uint8_t> codes, View<const std::uint8_t> scale_codes,
                View<const float> scales, std::int64_t block, View<const float> bias, View<float> y) {
  multiply_nf4<true>(x, nf4_numbers(codes, scale_codes, scales, block), bias, y);
}

void nf4_linear_gradient(View<const float> upstream, View<const std::uint8_t> codes,
                         View<const std::uint8_t> scale_codes, View<const float> scales, std::int64_t block,
                         View<float> gradient) {
  multiply_nf4<false>(upstream, nf4_numbers(codes, scale_codes, scales, block), {}, gradient);
}

}  // namespace assay::kernels::ASSAY_ISA
