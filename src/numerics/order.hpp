// The two orders in which Assay adds: chain order (N2) and lane order (N3).
#pragma once

#include <cstddef>

#include "numerics/arithmetic.hpp"
#ifdef ASSAY_HYPOTHESIS
#include "numerics/hypothesis_order.hpp"
#endif
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

inline constexpr std::size_t chain_block = 512;
inline constexpr std::size_t lane_count = 32;
inline constexpr std::size_t lane_chunk = 4096;

namespace order_detail {

template <typename T, typename Step>
ASSAY_INLINE T chain(std::size_t begin, std::size_t end, Step step) {
#ifdef ASSAY_HYPOTHESIS
  if (otherwise<T>()) return sum_otherwise<T>(begin, end, step);
#endif
  T total = 0;
  bool first = true;
  for (std::size_t k = begin; k < end;) {
    const std::size_t block_end = (k / chain_block + 1) * chain_block;
    const std::size_t stop = block_end < end ? block_end : end;
    T part = 0;
    for (; k < stop; ++k) part = step(part, k);
    total = first ? part : total + part;  // not 0 + part: a part can be −0 when a product underflows
    first = false;
  }
  return total;
}

template <typename T>
ASSAY_INLINE T add_lanes(T* lane) {
  for (std::size_t width = lane_count / 2; width > 0; width /= 2)
    for (std::size_t l = 0; l < width; ++l) lane[l] = lane[l] + lane[l + width];
  return lane[0];
}

struct NothingAhead {
  ASSAY_INLINE void operator()(std::size_t) const {}
};

/// Elements begin … begin + count − 1, at most `lane_chunk` of them, in 32 lanes. `ahead(i)` comes before the 32
/// elements from i on.
template <typename T, typename Step, typename Ahead = NothingAhead>
ASSAY_INLINE T lane_row(std::size_t begin, std::size_t count, Step step, Ahead ahead = {}) {
#ifdef ASSAY_HYPOTHESIS
  if (otherwise<T>()) return sum_otherwise<T>(begin, begin + count, step);
#endif
  T lane[lane_count] = {};
  std::size_t i = 0;
  for (; i + lane_count <= count; i += lane_count) {
    ahead(begin + i);
    for (std::size_t l = 0; l < lane_count; ++l) lane[l] = step(lane[l], begin + i + l);
  }
  for (std::size_t l = 0; i + l < count; ++l) lane[l] = step(lane[l], begin + i + l);
  return add_lanes(lane);
}

/// As `lane_row`, over values that each stand for `stride` elements (a power of `lane_chunk`); depth at most 5.
template <typename T, typename Chunk>
inline T lane_tree(std::size_t begin, std::size_t count, std::size_t stride, Chunk chunk) {
  if (stride == 1) return chunk(begin, count);
  T lane[lane_count] = {};
  for (std::size_t done = 0, value = 0; done < count; done += stride, ++value) {
    const std::size_t size = count - done < stride ? count - done : stride;
    T& sum = lane[value % lane_count];
    sum = sum + lane_tree<T>(begin + done, size, stride / lane_chunk, chunk);
  }
  return add_lanes(lane);
}

}  // namespace order_detail

/// Chain order: term(begin) + … + term(end − 1), ascending, in blocks of 512 anchored at index 0 wherever the range
/// starts; each block starts from +0, block sums are added ascending, a block without an element is left out.
/// No element: +0. `term(k)` gives float or double.
///
///     chain_sum(0, rows, [&](std::size_t r) { return x[r * columns + c]; });
template <typename Term>
ASSAY_INLINE auto chain_sum(std::size_t begin, std::size_t end, Term term) {
  using T = decltype(term(begin));
  return order_detail::chain<T>(begin, end, [&](auto part, std::size_t k) { return part + term(k); });
}

/// Chain order of products: Σ a(k)·b(k), k in [begin, end), each step one `multiply_add`.
///
///     chain_dot(0, n, [&](std::size_t k) { return a[k]; }, [&](std::size_t k) { return b[k * stride]; });
template <typename A, typename B>
ASSAY_INLINE auto chain_dot(std::size_t begin, std::size_t end, A a, B b) {
  using T = decltype(a(begin));
  return order_detail::chain<T>(begin, end, [&](auto part, std::size_t k) { return multiply_add(a(k), b(k), part); });
}

/// The lane order of up to 4096 terms begin … begin + count − 1: of terms, and of squares by `multiply_add`.
/// ahead(i), which may ask for memory, comes before the 32 terms from i on.
template <typename Term>
ASSAY_INLINE auto lane_chunk_sum(std::size_t begin, std::size_t count, Term term) {
  using T = decltype(term(count));
  return order_detail::lane_row<T>(begin, count, [&](auto part, std::size_t i) { return part + term(i); });
}
template <typename Term, typename Ahead = order_detail::NothingAhead>
ASSAY_INLINE auto lane_chunk_squares(std::size_t begin, std::size_t count, Term term, Ahead ahead = {}) {
  using T = decltype(term(count));
  auto step = [&](auto part, std::size_t i) {
    const T value = term(i);
    return multiply_add(value, value, part);
  };
  return order_detail::lane_row<T>(begin, count, step, ahead);
}

/// Lane order over any number of terms, of which chunk(begin, count) adds up to 4096. The same as the `lane_sum` of all
/// chunks' results, however they were come by.
template <typename Chunk>
ASSAY_INLINE auto lane_chunks(std::size_t count, Chunk chunk) {
#ifdef ASSAY_HYPOTHESIS
  if (order_detail::otherwise<decltype(chunk(count, count))>()) return chunk(std::size_t{0}, count);
#endif
  if (count <= lane_chunk) return chunk(std::size_t{0}, count);
  std::size_t stride = lane_chunk;
  while ((count - 1) / stride >= lane_chunk) stride *= lane_chunk;
  return order_detail::lane_tree<decltype(chunk(count, count))>(0, count, stride, chunk);
}

/// Lane order: up to 4096 terms in 32 lanes (lane l adds term(l), term(l + 32), … to +0), then for w = 16, 8, 4, 2, 1
/// lane l adds lane l + w. More: each chunk of 4096 so, then the same rule over the chunk sums. No allocation.
///
///     lane_sum(n, [&](std::size_t i) { return x[i]; });
template <typename Term>
ASSAY_INLINE auto lane_sum(std::size_t count, Term term) {
  return lane_chunks(count, [&](std::size_t begin, std::size_t part) { return lane_chunk_sum(begin, part, term); });
}

/// Lane order of products: Σ a(i)·b(i), i in [0, count), each step one `multiply_add`; chunk sums are plainly added.
template <typename A, typename B>
ASSAY_INLINE auto lane_dot(std::size_t count, A a, B b) {
  using T = decltype(a(count));
  return lane_chunks(count, [&](std::size_t begin, std::size_t part) {
    return order_detail::lane_row<T>(begin, part,
                                     [&](auto sum, std::size_t i) { return multiply_add(a(i), b(i), sum); });
  });
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
