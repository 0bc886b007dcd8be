// Rows of the last axis: their maximum, its place, and the parts of a softmax. Operands are contiguous.
#pragma once

#include <bit>

#include "kernels/cpu/lanes.hpp"
#include "kernels/walk.hpp"
#include "numerics/exp.hpp"
#include "numerics/log.hpp"

namespace assay::kernels::ASSAY_ISA {

/// Calls body(row) for 0 … count − 1; `length` elements make a row.
template <class Body>
void for_rows(std::int64_t count, std::int64_t length, Body body) {
  parallel_for(count, elements_per_task / (length + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

inline constexpr std::int64_t group_rows = 256, group_elements = 2048;

/// As `for_rows`, body(row, number, scratch) for groups of neighbouring rows and room for as many elements. Elementary
/// functions run over all elements of a group, which vectors divide better than short rows and which stay in the first
/// cache. Results are not computed in place: a masked store holds up the next row's load, which overlaps with it.
template <class Body>
void for_row_groups(std::int64_t count, std::int64_t length, Body body) {
  const std::int64_t room = length > group_elements ? length : group_elements, fitting = room / length,
                     most = fitting < group_rows ? fitting : group_rows;
  parallel_for(count, elements_per_task / (length + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    auto* const scratch = static_cast<float*>(thread_scratch(static_cast<std::size_t>(room) * sizeof(float)));
    for (std::int64_t row = begin; row < end; row += most) body(row, end - row < most ? end - row : most, scratch);
  });
}

/// The maximum of N1 over at least one element; it needs no order.
ASSAY_INLINE float row_maximum(const float* x, std::int64_t length) {
  Vector best = broadcast(x[0]);
  std::int64_t i = 0;
  if (length >= 4 * vector_width) {
    Vector b[4] = {best, best, best, best};
    for (; i + 4 * vector_width <= length; i += 4 * vector_width) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        __builtin_prefetch(x + i + v * vector_width + 512);
        b[v] = maximum(b[v], load(x + i + v * vector_width));
      }
    }
    best = maximum(maximum(b[0], b[1]), maximum(b[2], b[3]));
  }
  const Vector start = best;
  for_vectors(length - i, [&](std::int64_t k, auto... mask) {
    const Vector next = load(x + i + k, mask...);
    if constexpr (sizeof...(mask) == 0)
      best = maximum(best, next);
    else
      best = maximum(best, select(mask..., next, start));
  });
  return fold(best, [](Vector a, Vector b) { return maximum(a, b); });
}

/// The lowest index whose element has the bits of the maximum of N1: a NaN first, +0 before −0.
ASSAY_INLINE std::int64_t row_argmax(const float* x, std::int64_t length) {
  const Vector wanted = broadcast(row_maximum(x, length));
  for (std::int64_t i = 0;; i += vector_width) {
    const std::int64_t left = length - i;
    const std::uint32_t found = same_lanes(left < vector_width ? load(x + i, first_lanes(left)) : load(x + i), wanted);
    if (found != 0) return i + std::countr_zero(found);
  }
}

ASSAY_INLINE float row_sum(const float* x, std::int64_t length) {
  return numerics::lane_chunks(static_cast<std::size_t>(length), [=](std::size_t begin, std::size_t count) {
    return chunk_sum(x + begin, static_cast<std::int64_t>(count));
  });
}
ASSAY_INLINE float row_dot(const float* a, const float* b, std::int64_t length) {
  return numerics::lane_chunks(static_cast<std::size_t>(length), [=](std::size_t begin, std::size_t count) {
    return chunk_dot(a + begin, b + begin, static_cast<std::int64_t>(count));
  });
}

/// y = exp(x − m) in a group of rows, m the maximum of each; `most`, when given, takes the maxima.
ASSAY_INLINE void rows_exponentials(const float* x, std::int64_t rows, std::int64_t length, float* y,
                                    float* most = nullptr) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * length;
    float* to = y + row * length;
    const float maximum = row_maximum(from, length);
    if (most != nullptr) most[row] = maximum;
    for_vectors(length, [=, m = broadcast(maximum)](std::int64_t i, auto... mask) {
      store(to + i, subtract(load(from + i, mask...), m), mask...);
    });
  }
  for (std::int64_t i = 0; i < rows * length; ++i) y[i] = numerics::exp(y[i]);
}

/// The two scalars of each row's log-softmax (x − m) − log(Σ exp(x − m)), for a group of rows.
struct LogSoftmax {
  float most[group_rows], log_of_sum[group_rows];

  /// Overwrites `exponentials`, which has room for the group.
  ASSAY_INLINE LogSoftmax(const float* x, std::int64_t rows, std::int64_t length, float* exponentials) {
    rows_exponentials(x, rows, length, exponentials, most);
    for (std::int64_t row = 0; row < rows; ++row) log_of_sum[row] = row_sum(exponentials + row * length, length);
    for (std::int64_t row = 0; row < rows; ++row) log_of_sum[row] = numerics::log(log_of_sum[row]);
  }
  ASSAY_INLINE float of(std::int64_t row, float x) const { return (x - most[row]) - log_of_sum[row]; }
  /// y = the log-softmax of x's elements, which are row `row`.
  ASSAY_INLINE void of(std::int64_t row, const float* x, std::int64_t length, float* y) const {
    for_vectors(length, [=, m = broadcast(most[row]), l = broadcast(log_of_sum[row])](std::int64_t i, auto... mask) {
      store(y + i, subtract(subtract(load(x + i, mask...), m), l), mask...);
    });
  }
};

}  // namespace assay::kernels::ASSAY_ISA
