// The tile of a matrix product: a few rows and two vectors of outputs, each one ascending fma chain, side by side in
// registers. The right operand may be packed into strips first; the bits are the same.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "kernels/cpu/vector.hpp"
#include "tensor/view.hpp"

namespace assay::kernels::ASSAY_ISA {

// As many rows that accumulators, the right operand and one broadcast fit into the registers.
inline constexpr int tile_rows = vector_registers == 32 ? 14 : 6;
inline constexpr std::int64_t tile_columns = 2 * vector_width;
inline constexpr std::int64_t prefetched = 8;  // rows of the right operand

/// What a tile's sums do to c: they become it, are added to it (the next block of a chain), or go on from it (the same
/// block).
enum class Into { store, add, extend };

/// Element (row, k) is data[row·step + k], with `by_rows`, or data[row + k·step].
struct Left {
  const float* data;
  std::int64_t step;
};
/// Element (k, column) is data[k·step + column].
struct Right {
  const float* data;
  std::int64_t step;
};

// Keeps the compiler from deriving many addresses from one ahead of a loop, for which registers do not suffice.
template <class T>
ASSAY_INLINE void hide(T*& pointer) {
  asm("" : "+r"(pointer));
}

// Σ left·right over `depth` into c, R rows and V vectors; the last vector is whole or has the lanes of `mask`.
template <int R, int V, bool by_rows, bool whole>
[[gnu::noinline]] void tile(std::int64_t depth, Left left, Right right, float* c, std::int64_t step, Into into,
                            Mask mask) {
  constexpr int bases = by_rows ? (R + 2) / 3 : 1;  // addresses of x86 reach rows 0, 1 and 2 from one register
  const float* base[bases];
#pragma GCC unroll 5
  for (int i = 0; i < bases; ++i) base[i] = left.data + 3 * i * left.step;
  const float* row = right.data;
  Vector sum[R][V];
#pragma GCC unroll 14
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < V; ++j) sum[i][j] = zero();
  if (into == Into::extend) {
    const float* from = c;
#pragma GCC unroll 14
    for (int i = 0; i < R; ++i, from += step, hide(from))
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j)
        sum[i][j] = j + 1 < V || whole ? load(from + j * vector_width) : load(from + j * vector_width, mask);
  }

  auto next_depth = [&]() __attribute__((always_inline)) {
    Vector b[V];
#pragma GCC unroll 2
    for (int j = 0; j < V; ++j)
      b[j] = j + 1 < V || whole ? load(row + j * vector_width) : load(row + j * vector_width, mask);
#pragma GCC unroll 2
    for (int j = 0; j < V * vector_width; j += 16) __builtin_prefetch(row + prefetched * right.step + j);
#pragma GCC unroll 14
    for (int i = 0; i < R; ++i) {
      Vector a = broadcast(by_rows ? base[i / 3][i % 3 * left.step] : base[0][i]);
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) sum[i][j] = fma(a, b[j], sum[i][j]);
    }
#pragma GCC unroll 5
    for (int i = 0; i < bases; ++i) {
      base[i] += by_rows ? 1 : left.step;
      hide(base[i]);
    }
    row += right.step;
    hide(row);
  };
  std::int64_t k = 0;
  for (const float* line = c; k < R && k < depth; ++k, line += step) {
    __builtin_prefetch(line, 1);
    __builtin_prefetch(line + V * vector_width - 1, 1);
    next_depth();
  }
  for (; k < depth; ++k) next_depth();

#pragma GCC unroll 14
  for (int i = 0; i < R; ++i, c += step, hide(c))
#pragma GCC unroll 2
    for (int j = 0; j < V; ++j) {
      float* to = c + j * vector_width;
      if (j + 1 < V || whole) {
        store(to, into == Into::add ? add(load(to), sum[i][j]) : sum[i][j]);
      } else {
        store(to, into == Into::add ? add(load(to, mask), sum[i][j]) : sum[i][j], mask);
      }
    }
}

using Tile = decltype(&tile<1, 1, true, true>);

template <int V, bool by_rows, bool whole, int... R>
Tile tile_of(std::int64_t rows, std::integer_sequence<int, R...>) {
  constexpr Tile all[] = {tile<R + 1, V, by_rows, whole>...};
  return all[rows - 1];
}
template <int V, bool by_rows>
Tile tile_of(std::int64_t rows, bool whole) {
  constexpr std::make_integer_sequence<int, tile_rows> all{};
  return whole ? tile_of<V, by_rows, true>(rows, all) : tile_of<V, by_rows, false>(rows, all);
}

/// One tile of c, of up to tile_rows rows and tile_columns columns.
inline void multiply_tile(std::int64_t depth, bool by_rows, Left left, Right right, float* c, std::int64_t step,
                          Into into, std::int64_t rows, std::int64_t columns) {
  bool wide = columns > vector_width, whole = columns % vector_width == 0;
  std::int64_t lanes = columns - (wide ? vector_width : 0);
  Tile tile = wide ? (by_rows ? tile_of<2, true>(rows, whole) : tile_of<2, false>(rows, whole))
                   : (by_rows ? tile_of<1, true>(rows, whole) : tile_of<1, false>(rows, whole));
  tile(depth, left, right, c, step, into, first_lanes(lanes));
}

/// The first row of tile t, where `tiles` tiles share the rows evenly.
ASSAY_INLINE std::int64_t first_row(std::int64_t t, std::int64_t rows, std::int64_t tiles) { return t * rows / tiles; }

// 4 columns of b and 4 depths, turned so that columns lie side by side.
ASSAY_INLINE void turn(const float* from, std::int64_t step, float* to) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + step), c = _mm_loadu_ps(from + 2 * step),
         d = _mm_loadu_ps(from + 3 * step);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + tile_columns, b);
  _mm_storeu_ps(to + 2 * tile_columns, c);
  _mm_storeu_ps(to + 3 * tile_columns, d);
}

/// All columns of one block in strips of tile_columns, those of one depth side by side.
inline void pack_right(View<const float> b, float* to) {
  std::int64_t depth = b.extent[0], depth_step = b.stride[0], step = b.stride[1];
  for (std::int64_t column = 0; column < b.extent[1]; column += tile_columns, to += tile_columns * depth) {
    std::int64_t columns = b.extent[1] - column < tile_columns ? b.extent[1] - column : tile_columns, k = 0;
    const float* from = b.data + column * step;
    if (columns == tile_columns && step == 1)
      for (; k < depth; ++k)
        for (std::int64_t j = 0; j < tile_columns; ++j) to[k * tile_columns + j] = from[k * depth_step + j];
    if (columns == tile_columns && depth_step == 1)
      for (; k + 4 <= depth; k += 4)
        for (std::int64_t j = 0; j < tile_columns; j += 4) turn(from + k + j * step, step, to + k * tile_columns + j);
    for (; k < depth; ++k)
      for (std::int64_t j = 0; j < columns; ++j) to[k * tile_columns + j] = from[k * depth_step + j * step];
  }
}

/// Floats of that many columns packed so.
ASSAY_INLINE std::int64_t packed_size(std::int64_t depth, std::int64_t columns) {
  return (columns + tile_columns - 1) / tile_columns * tile_columns * depth;
}

}  // namespace assay::kernels::ASSAY_ISA
