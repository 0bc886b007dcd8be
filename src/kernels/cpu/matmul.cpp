// Matrix product in the order of N2: every output is one ascending fma chain, and a register tile of outputs runs side
// by side. Small right operands are read where they lie, others are packed into panels first; the bits are the same.
#include "kernels/matmul.hpp"

#include "device/cpu/scratch.hpp"
#include "device/cpu/thread_pool.hpp"
#include "kernels/cpu/vector.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr std::int64_t block = numerics::chain_block;
constexpr int tile_vectors = 2;
constexpr int tile_rows = vector_registers == 32 ? 14 : 6;  // accumulators, the right operand and one broadcast fit
constexpr std::int64_t tile_columns = tile_vectors * vector_width;
constexpr std::int64_t panel_columns = 64 * tile_columns;  // of the right operand, packed at a time
constexpr std::int64_t panel_rows = 16 * tile_rows;        // of the left operand
constexpr std::int64_t unpacked_bytes = 1 << 18;           // a right operand that stays in the second-level cache
constexpr std::int64_t direct_bytes = 1 << 16;             // a left operand across whose rows it is cheap to step

/// One operand of a tile: element (outer, k) lies at data[outer·step + k·depth_step].
struct Left {
  const float* data;
  std::int64_t step, depth_step;
};
struct Right {
  const float* data;
  std::int64_t depth_step;  // its columns lie side by side
};
struct Target {
  float* data;
  std::int64_t step;
};

// c[R rows][V vectors] = or += Σ over `depth` of left·right; the last vector takes the lanes of `mask`.
template <int R, int V>
ASSAY_INLINE void tile(std::int64_t depth, Left left, Right right, Target c, bool first, Mask mask, bool whole) {
  Vector sum[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) sum[i][j] = zero();
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector b[V];
    const float* row = right.data + k * right.depth_step;
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j)
      b[j] = j + 1 < V || whole ? load(row + j * vector_width) : load(row + j * vector_width, mask);
    const float* column = left.data + k * left.depth_step;
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      Vector a = broadcast(column[i * left.step]);
#pragma GCC unroll 4
      for (int j = 0; j < V; ++j) sum[i][j] = fma(a, b[j], sum[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < V; ++j) {
      float* to = c.data + i * c.step + j * vector_width;
      if (j + 1 < V || whole) {
        store(to, first ? sum[i][j] : add(load(to), sum[i][j]));
      } else {
        store(to, first ? sum[i][j] : add(load(to, mask), sum[i][j]), mask);
      }
    }
}

// As many tiles of R rows as there are, from the top; what is left is the next one's.
template <int R, int V>
ASSAY_INLINE void tiles(std::int64_t& rows, std::int64_t depth, Left& left, Right right, Target& c, bool first,
                        Mask mask, bool whole) {
  for (; rows >= R; rows -= R, left.data += R * left.step, c.data += R * c.step)
    tile<R, V>(depth, left, right, c, first, mask, whole);
}

// All rows of one strip of at most V vectors of columns.
template <int V>
void strip(std::int64_t rows, std::int64_t depth, Left left, Right right, Target c, bool first, std::int64_t columns) {
  constexpr bool many = vector_registers == 32;
  constexpr int R = V <= 2 ? tile_rows : V == 3 ? (many ? 8 : 4) : (many ? 6 : 3);
  const Mask mask = first_lanes(columns - (V - 1) * vector_width);
  if (columns == V * vector_width) {
    tiles<R, V>(rows, depth, left, right, c, first, mask, true);
    tiles<4, V>(rows, depth, left, right, c, first, mask, true);
    tiles<1, V>(rows, depth, left, right, c, first, mask, true);
  } else {
    tiles<R, V>(rows, depth, left, right, c, first, mask, false);
    tiles<4, V>(rows, depth, left, right, c, first, mask, false);
    tiles<1, V>(rows, depth, left, right, c, first, mask, false);
  }
}

// Left rows [first, first + count) of one block as panels of tile_rows: element (i, k) of a panel at k·tile_rows + i.
void pack_left(const float* a, std::int64_t step, std::int64_t depth_step, std::int64_t count, std::int64_t depth,
               float* to) {
  for (std::int64_t row = 0; row < count; row += tile_rows, to += tile_rows * depth) {
    const float* from = a + row * step;
    if (count - row >= tile_rows)
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t i = 0; i < tile_rows; ++i) to[k * tile_rows + i] = from[i * step + k * depth_step];
    else
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t i = 0; i < count - row; ++i) to[k * tile_rows + i] = from[i * step + k * depth_step];
  }
}

// Right columns of one block as panels of tile_columns: element (k, j) of a panel at k·tile_columns + j.
void pack_right(const float* b, std::int64_t depth_step, std::int64_t step, std::int64_t depth, std::int64_t count,
                float* to) {
  for (std::int64_t column = 0; column < count; column += tile_columns, to += tile_columns * depth) {
    std::int64_t columns = count - column < tile_columns ? count - column : tile_columns;
    const float* from = b + column * step;
    if (step == 1 && columns == tile_columns)
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t j = 0; j < tile_columns; ++j) to[k * tile_columns + j] = from[k * depth_step + j];
    else if (columns == tile_columns)
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t j = 0; j < tile_columns; ++j) to[k * tile_columns + j] = from[k * depth_step + j * step];
    else
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t j = 0; j < columns; ++j) to[k * tile_columns + j] = from[k * depth_step + j * step];
  }
}

// The strips of one block of rows, with the right operand read where it lies.
void multiply_unpacked(std::int64_t rows, std::int64_t depth, Left left, Right b, Target c, bool first,
                       std::int64_t columns) {
  for (std::int64_t column = 0; column < columns;) {
    std::int64_t vectors = (columns - column + vector_width - 1) / vector_width;
    Right right{b.data + column, b.depth_step};
    Target target{c.data + column, c.step};
    std::int64_t width = columns - column < 4 * vector_width ? columns - column : 4 * vector_width;
    switch (vectors) {
      case 1:
        strip<1>(rows, depth, left, right, target, first, width);
        break;
      case 2:
        strip<2>(rows, depth, left, right, target, first, width);
        break;
      case 3:
        strip<3>(rows, depth, left, right, target, first, width);
        break;
      default:
        strip<4>(rows, depth, left, right, target, first, width);
        break;
    }
    column += width;
  }
}

// The same in strips of a tile's width. A packed operand is read panel by panel.
void multiply_tiled(std::int64_t rows, std::int64_t depth, Left left, bool left_packed, Right right, bool right_packed,
                    Target c, bool first, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; column += tile_columns) {
    std::int64_t width = columns - column < tile_columns ? columns - column : tile_columns;
    Right strip_of_right{right.data + column * (right_packed ? depth : 1), right.depth_step};
    for (std::int64_t row = 0; row < rows; row += tile_rows) {
      std::int64_t count = rows - row < tile_rows ? rows - row : tile_rows;
      Left part{left.data + row * (left_packed ? depth : left.step), left.step, left.depth_step};
      Target target{c.data + row * c.step + column, c.step};
      if (count == tile_rows && width == tile_columns)
        tile<tile_rows, tile_vectors>(depth, part, strip_of_right, target, first, first_lanes(vector_width), true);
      else if (width > vector_width)
        strip<2>(count, depth, part, strip_of_right, target, first, width);
      else
        strip<1>(count, depth, part, strip_of_right, target, first, width);
    }
  }
}

// Rows [begin, end) of c.
void multiply(View<const float> a, View<const float> b, View<float> c, std::int64_t begin, std::int64_t end) {
  std::int64_t depth = a.extent[1], columns = c.extent[1], deepest = depth < block ? depth : block;
  bool large = columns * deepest * std::int64_t{sizeof(float)} > unpacked_bytes;
  bool right_packed = large || b.stride[1] != 1;
  bool left_packed =
      large || (a.stride[1] != 1 && (end - begin) * deepest * std::int64_t{sizeof(float)} > direct_bytes);
  std::int64_t widest =
      columns < panel_columns ? (columns + tile_columns - 1) / tile_columns * tile_columns : panel_columns;
  float* right_panels =
      static_cast<float*>(thread_scratch(static_cast<std::size_t>((widest + panel_rows) * deepest) * sizeof(float)));
  float* left_panels = right_panels + widest * deepest;

  for (std::int64_t column = 0; column < columns; column += panel_columns) {
    std::int64_t width = columns - column < panel_columns ? columns - column : panel_columns;
    for (std::int64_t k = 0; k == 0 || k < depth; k += block) {
      std::int64_t count = depth - k < block ? depth - k : block;
      const float* from = b.data + k * b.stride[0] + column * b.stride[1];
      if (right_packed) pack_right(from, b.stride[0], b.stride[1], count, width, right_panels);
      for (std::int64_t row = begin; row < end; row += panel_rows) {
        std::int64_t rows = end - row < panel_rows ? end - row : panel_rows;
        Left left{a.data + row * a.stride[0] + k * a.stride[1], a.stride[0], a.stride[1]};
        Target target{c.data + row * c.stride[0] + column, c.stride[0]};
        if (left_packed) {
          pack_left(left.data, left.step, left.depth_step, rows, count, left_panels);
          left = {left_panels, 1, tile_rows};
        }
        Right right = right_packed ? Right{right_panels, tile_columns} : Right{from, b.stride[0]};
        if (left_packed || right_packed)
          multiply_tiled(rows, count, left, left_packed, right, right_packed, target, k == 0, width);
        else
          multiply_unpacked(rows, count, left, right, target, k == 0, width);
      }
    }
  }
}

}  // namespace

void matmul(View<const float> a, View<const float> b, View<float> c) {
  std::int64_t rows = c.extent[0];
  constexpr std::int64_t grain = 2 * tile_rows;
  parallel_for((rows + grain - 1) / grain, 1, [=](std::int64_t begin, std::int64_t end) {
    multiply(a, b, c, begin * grain, end * grain < rows ? end * grain : rows);
  });
}

}  // namespace assay::kernels::ASSAY_ISA
