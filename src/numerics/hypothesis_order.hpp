// The orders of a hypothesis, in the place of chain order and lane order.
#pragma once

#include <cstddef>
#include <type_traits>

#include "numerics/arithmetic.hpp"
#include "numerics/hypothesis.hpp"
#include "numerics/isa.hpp"

// Only the kernel builds with -DASSAY_HYPOTHESIS see this header, through order.hpp.
namespace assay::numerics {
inline namespace ASSAY_ISA {
namespace order_detail {

/// Whether sums of elements of type T are not the promised ones.
template <typename T>
ASSAY_INLINE bool otherwise() {
  const Arithmetic& a = *arithmetic();
  return a.order != Arithmetic::Order::exact || (a.wide && std::is_same_v<T, float>);
}

/// One ascending chain, step(sum, k) adding element k.
template <typename T, typename Step>
T serial(std::size_t begin, std::size_t end, Step step) {
  T sum = 0;
  for (std::size_t k = begin; k < end; ++k) sum = step(sum, k);
  return sum;
}

template <typename T, typename Step>
T reversed(std::size_t begin, std::size_t end, Step step) {
  T sum = 0;
  for (std::size_t k = end; k > begin; --k) sum = step(sum, k - 1);
  return sum;
}

template <typename T, typename Step>
T pairwise(std::size_t begin, std::size_t end, Step step) {
  if (end - begin < 2) return serial<T>(begin, end, step);
  const std::size_t middle = begin + (end - begin) / 2;
  return pairwise<T>(begin, middle, step) + pairwise<T>(middle, end, step);
}

template <typename T, typename Step>
T lanes(std::size_t width, std::size_t begin, std::size_t end, Step step) {
  T lane[256] = {};
  for (std::size_t k = begin; k < end; ++k) lane[(k - begin) % width] = step(lane[(k - begin) % width], k);
  for (std::size_t w = width / 2; w > 0; w /= 2)
    for (std::size_t l = 0; l < w; ++l) lane[l] = lane[l] + lane[l + w];
  return lane[0];
}

template <typename T, typename Step>
T blocks(std::size_t length, std::size_t begin, std::size_t end, Step step) {
  T total = 0;
  for (std::size_t k = begin; k < end; k += length) {
    const T part = serial<T>(k, end - k < length ? end : k + length, step);
    total = k == begin ? part : total + part;
  }
  return total;
}

/// Elements begin … end − 1 in the order of the hypothesis; `step` takes sums of either type.
template <typename T, typename Step>
T sum_otherwise(std::size_t begin, std::size_t end, Step step) {
  using Order = Arithmetic::Order;
  const Arithmetic& a = *arithmetic();
  if constexpr (std::is_same_v<T, float>)
    if (a.wide) return static_cast<float>(sum_otherwise<double>(begin, end, step));
  const auto width = static_cast<std::size_t>(a.width);
  switch (a.order) {
    case Order::reversed:
      return reversed<T>(begin, end, step);
    case Order::pairwise:
      return pairwise<T>(begin, end, step);
    case Order::lanes:
      return lanes<T>(width, begin, end, step);
    case Order::blocks:
      return blocks<T>(width, begin, end, step);
    case Order::parts:
      return blocks<T>((end - begin + width - 1) / width, begin, end, step);
    default:
      return serial<T>(begin, end, step);
  }
}

}  // namespace order_detail
}  // namespace ASSAY_ISA
}  // namespace assay::numerics
