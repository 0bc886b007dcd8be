// What every matrix product shares, whoever multiplies: its matrices, its split over threads, and its epilogue.
#pragma once

#include "device/cpu/thread_pool.hpp"
#include "kernels/matmul.hpp"
#include "numerics/arithmetic.hpp"

namespace assay::kernels::ASSAY_ISA {

/// Whether the epilogue changes anything.
ASSAY_INLINE bool finishes(const Epilogue& epilogue) {
  return epilogue.bias.data || epilogue.relu || epilogue.accumulate;
}

/// Rows or columns [begin, end) of a matrix.
template <class T>
ASSAY_INLINE View<T> part(View<T> matrix, int axis, std::int64_t begin, std::int64_t end) {
  matrix.data += begin * matrix.stride[axis];
  matrix.extent[axis] = end - begin;
  return matrix;
}

/// The last two axes at flat place `index` of the others.
template <class T>
ASSAY_INLINE View<T> matrix_at(const View<T>& x, std::int64_t index) {
  View<T> matrix{x.data, 2, {x.extent[x.rank - 2], x.extent[x.rank - 1]}, {x.stride[x.rank - 2], x.stride[x.rank - 1]}};
  for (int axis = x.rank - 3; axis >= 0; --axis) {
    matrix.data += index % x.extent[axis] * x.stride[axis];
    index /= x.extent[axis];
  }
  return matrix;
}

/// The epilogue of finished sums: they stand in `sums` where it accumulates, else in c itself.
ASSAY_INLINE void finish(const Epilogue& epilogue, View<const float> sums, View<float> c) {
  auto finished = [bias = epilogue.bias.data, relu = epilogue.relu](float x, std::int64_t column) {
    if (bias) x = x + bias[column];
    return relu ? numerics::relu(x) : x;
  };
  for (std::int64_t row = 0; row < c.extent[0]; ++row) {
    float* to = c.data + row * c.stride[0];
    const float* from = sums.data + row * sums.stride[0];
    if (epilogue.accumulate)
      for (std::int64_t column = 0; column < c.extent[1]; ++column) to[column] += finished(from[column], column);
    else
      for (std::int64_t column = 0; column < c.extent[1]; ++column) to[column] = finished(to[column], column);
  }
}

/// Calls multiply(a, b, epilogue, c) for matrices that make up all of c, from several threads. A thread's part is whole
/// tiles along one side of c, and each thread packs what it needs of the other side. A left operand that lies row by
/// row is not packed, so columns are shared out then, unless c is very tall.
template <class Multiply>
void for_parts(const View<const float>& a, const View<const float>& b, const Epilogue& epilogue, const View<float>& c,
               std::int64_t tile_rows, std::int64_t tile_columns, Multiply multiply) {
  std::int64_t rows = c.extent[c.rank - 2], columns = c.extent[c.rank - 1], depth = a.extent[a.rank - 1], matrices = 1;
  for (int axis = 0; axis < c.rank - 2; ++axis) matrices *= c.extent[axis];
  const bool by_rows = a.stride[a.rank - 1] == 1 ? rows > 4 * columns : rows >= columns;
  const std::int64_t side = by_rows ? rows : columns, tile = by_rows ? tile_rows : tile_columns;
  const std::int64_t tiles = (side + tile - 1) / tile, products = tile * (by_rows ? columns : rows) * (depth + 1);
  constexpr std::int64_t products_per_thread = 1 << 18;  // fewer are done before another thread has woken up
  if (products == 0) return;
  parallel_for(matrices * tiles, 1 + products_per_thread / products, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      std::int64_t matrix = begin / tiles, first = begin % tiles;
      std::int64_t last = first + end - begin < tiles ? first + end - begin : tiles;
      std::int64_t from = first * tile, to = last * tile < side ? last * tile : side;
      View<const float> left = matrix_at(a, matrix), right = matrix_at(b, matrix);
      View<float> result = part(matrix_at(c, matrix), by_rows ? 0 : 1, from, to);
      Epilogue rest = epilogue;
      if (by_rows) {
        left = part(left, 0, from, to);
      } else {
        right = part(right, 1, from, to);
        if (rest.bias.data) rest.bias.data += from;
      }
      multiply(left, right, rest, result);
      begin += last - first;
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
