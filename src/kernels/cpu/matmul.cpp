// Matrix product in the order of N2: every output is one ascending fma chain, and a register tile of outputs runs side
// by side. An operand is read where it lies or packed into panels first, whichever is faster; the bits are the same.
#include "kernels/matmul.hpp"

#include "device/cpu/scratch.hpp"
#include "kernels/cpu/matmul_parts.hpp"
#include "kernels/cpu/matmul_tile.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr std::int64_t block = numerics::chain_block;
constexpr std::int64_t panel_columns = 16 * tile_columns;  // of the right operand: stays in the second-level cache
constexpr std::int64_t panel_rows = 2048;                  // of the left operand, packed at a time
constexpr std::int64_t step_of_left = (tile_rows + vector_width - 1) / vector_width * vector_width;
constexpr std::int64_t tiles_side_by_side = 32;  // packed at once, so that rows of the left operand are read whole
constexpr std::int64_t bytes_read_in_place = 1 << 16;  // of a left operand across whose rows the depth runs
constexpr std::int64_t bytes_kept_in_place = 1 << 18;  // of a right operand
constexpr std::int64_t rows_worth_packing = 128;       // that use a packed right operand

// Tiles [first, last) of one block, tile t at to + t·panel, the rows of one depth side by side.
void pack_left(View<const float> a, std::int64_t tiles, std::int64_t first, std::int64_t last, std::int64_t panel,
               float* to) {
  constexpr int vectors = step_of_left / vector_width;
  const float* from[tiles_side_by_side];
  std::int64_t rows[tiles_side_by_side];
  Mask mask[tiles_side_by_side][vectors];
  for (std::int64_t t = first; t < last; ++t) {
    std::int64_t row = first_row(t, a.extent[0], tiles), count = first_row(t + 1, a.extent[0], tiles) - row;
    from[t - first] = a.data + row * a.stride[0];
    rows[t - first] = count;
    for (int v = 0; v < vectors; ++v, count -= vector_width)
      mask[t - first][v] = first_lanes(count < 0 ? 0 : count < vector_width ? count : vector_width);
  }
  to += first * panel;
  for (std::int64_t k = 0; k < a.extent[1]; ++k, to += step_of_left)
    for (std::int64_t t = 0; t < last - first; ++t) {
      const float* column = from[t] + k * a.stride[1];
      if (a.stride[0] == 1)
        for (int v = 0; v < vectors; ++v)
          store(to + t * panel + v * vector_width, load(column + v * vector_width, mask[t][v]));
      else
        for (std::int64_t i = 0; i < rows[t]; ++i) to[t * panel + i] = column[i * a.stride[0]];
    }
}

// One matrix on one thread. Of each block of the depth, panels of columns are multiplied with all tiles of rows.
void multiply_matrix(View<const float> a, View<const float> b, const Epilogue& epilogue, View<float> c) {
  const std::int64_t depth = a.extent[1], columns = c.extent[1], deepest = depth < block ? depth : block;
  const std::int64_t tallest = c.extent[0] < panel_rows ? c.extent[0] : panel_rows;
  const std::int64_t widest = columns < panel_columns ? columns : panel_columns;
  const std::int64_t float_bytes = sizeof(float);
  const bool by_rows = a.stride[1] == 1;
  const bool left_packed = !by_rows && (a.stride[0] != 1 || c.extent[0] * deepest * float_bytes > bytes_read_in_place);
  const bool right_packed =
      b.stride[1] != 1 || (c.extent[0] >= rows_worth_packing && columns * deepest * float_bytes > bytes_kept_in_place);
  const bool in_scratch = epilogue.accumulate;  // sums of blocks; else they are in c

  // A panel takes one more cache line than it fills, so that panels side by side do not share their place in a cache.
  const std::int64_t left_panel = step_of_left * deepest + 16;
  const std::int64_t right_size = right_packed ? packed_size(deepest, widest) : 0;
  const std::int64_t left_size = left_packed ? (tallest + tile_rows - 1) / tile_rows * left_panel : 0;
  const std::int64_t sums_size = in_scratch ? tallest * columns : 0;
  float* right_panels =
      static_cast<float*>(thread_scratch(static_cast<std::size_t>((right_size + left_size + sums_size) * float_bytes)));
  float* left_panels = right_panels + right_size;
  View<float> sums = c;
  if (in_scratch) sums = {left_panels + left_size, 2, {tallest, columns}, {columns, 1}};

  for (std::int64_t top = 0; top < c.extent[0]; top += panel_rows) {
    const std::int64_t rows = c.extent[0] - top < panel_rows ? c.extent[0] - top : panel_rows;
    const std::int64_t tiles = (rows + tile_rows - 1) / tile_rows;
    for (std::int64_t k = 0; k == 0 || k < depth; k += block) {
      const std::int64_t count = depth - k < block ? depth - k : block;
      const View<const float> left_block = part(part(a, 0, top, top + rows), 1, k, k + count);
      for (std::int64_t panel = 0; panel < columns; panel += panel_columns) {
        const std::int64_t width = columns - panel < panel_columns ? columns - panel : panel_columns;
        const View<const float> right_block = part(part(b, 0, k, k + count), 1, panel, panel + width);
        if (right_packed) pack_right(right_block, right_panels);
        for (std::int64_t t = 0; t < tiles; ++t) {
          if (left_packed && panel == 0 && t % tiles_side_by_side == 0)
            pack_left(left_block, tiles, t, t + tiles_side_by_side < tiles ? t + tiles_side_by_side : tiles, left_panel,
                      left_panels);
          const std::int64_t row = first_row(t, rows, tiles), height = first_row(t + 1, rows, tiles) - row;
          Left left{left_block.data + row * a.stride[0], by_rows ? a.stride[0] : a.stride[1]};
          if (left_packed) left = {left_panels + t * left_panel, step_of_left};
          const std::int64_t sums_row = in_scratch ? row : top + row;
          for (std::int64_t strip = 0; strip < width; strip += tile_columns) {
            Right right{right_block.data + strip, b.stride[0]};
            if (right_packed) right = {right_panels + strip * count, tile_columns};
            const std::int64_t strip_columns = width - strip < tile_columns ? width - strip : tile_columns;
            multiply_tile(count, by_rows, left, right, sums.data + sums_row * sums.stride[0] + panel + strip,
                          sums.stride[0], k == 0 ? Into::store : Into::add, height, strip_columns);
          }
          if (finishes(epilogue) && k + count == depth) {
            Epilogue rest = epilogue;
            if (rest.bias.data) rest.bias.data += panel;
            finish(rest, {sums.data + sums_row * sums.stride[0] + panel, 2, {height, width}, {sums.stride[0], 1}},
                   part(part(c, 0, top + row, top + row + height), 1, panel, panel + width));
          }
        }
      }
    }
  }
}

}  // namespace

void matmul(View<const float> a, View<const float> b, Epilogue epilogue, View<float> c) {
  for_parts(a, b, epilogue, c, tile_rows, tile_columns, multiply_matrix);
}

}  // namespace assay::kernels::ASSAY_ISA
