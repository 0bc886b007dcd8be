// Rows of the last axis: their maximum, its place, and the parts of a softmax. Operands are contiguous.
#pragma once

#include "kernels/cpu/elementwise.hpp"
#include "numerics/arithmetic.hpp"
#include "numerics/exp.hpp"
#include "numerics/log.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

/// Calls body(row) for 0 … count − 1; `length` elements make a row.
template <class Body>
void for_rows(std::int64_t count, std::int64_t length, Body body) {
  parallel_for(count, elements_per_task / (length + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

/// The maximum of N1 over at least one element; it needs no order, so 16 candidates run side by side.
ASSAY_INLINE float row_maximum(const float* x, std::int64_t length) {
  constexpr std::int64_t width = 16;
  float best[width];
  for (std::int64_t l = 0; l < width; ++l) best[l] = x[0];
  std::int64_t i = 0;
  for (; i + width <= length; i += width)
    for (std::int64_t l = 0; l < width; ++l) best[l] = numerics::maximum(best[l], x[i + l]);
  for (; i < length; ++i) best[0] = numerics::maximum(best[0], x[i]);
  for (std::int64_t l = 1; l < width; ++l) best[0] = numerics::maximum(best[0], best[l]);
  return best[0];
}

/// The lowest index whose element has the bits of the maximum of N1: a NaN first, +0 before −0.
ASSAY_INLINE std::int64_t row_argmax(const float* x, std::int64_t length) {
  std::uint32_t wanted = numerics::canonical_bits(row_maximum(x, length));
  std::int64_t index = 0;
  while (numerics::canonical_bits(x[index]) != wanted) ++index;
  return index;
}

/// y = exp(x − m), m the maximum of the row; the lane sum of y.
ASSAY_INLINE float row_exponentials(const float* x, std::int64_t length, float* y) {
  float most = row_maximum(x, length);
  for (std::int64_t i = 0; i < length; ++i) y[i] = numerics::exp(x[i] - most);
  return numerics::lane_sum(static_cast<std::size_t>(length), [=](std::size_t i) { return y[i]; });
}

/// The two scalars of a row's log-softmax (x − m) − log(Σ exp(x − m)).
struct LogSoftmax {
  float most, log_of_sum;
  ASSAY_INLINE float operator()(float x) const { return (x - most) - log_of_sum; }
};
ASSAY_INLINE LogSoftmax row_log_softmax(const float* x, std::int64_t length) {
  float most = row_maximum(x, length);
  float sum =
      numerics::lane_sum(static_cast<std::size_t>(length), [=](std::size_t i) { return numerics::exp(x[i] - most); });
  return {most, numerics::log(sum)};
}

}  // namespace assay::kernels::ASSAY_ISA
