// Numbers carried as an unevaluated sum of two binary64 values, about 104 bits: enough for the few steps that need it.
#pragma once

#include <bit>
#include <cstdint>

#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// high + low, with |low| at most half a unit in the last place of high.
struct Pair {
  double high;
  double low;
};

/// a + b exactly (Knuth's TwoSum).
ASSAY_INLINE Pair exact_sum(double a, double b) {
  const double sum = a + b;
  const double taken = sum - a;
  return {sum, (a - (sum - taken)) + (b - taken)};
}

/// a·b to within 2⁻¹⁰⁵ (Dekker's product; the factors are cut into 26 and 27 bits).
ASSAY_INLINE Pair wide_product(double a, double b) {
  const double a_high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & 0xfffffffff8000000u);
  const double b_high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(b) & 0xfffffffff8000000u);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

ASSAY_INLINE Pair operator+(Pair a, double b) {
  const Pair sum = exact_sum(a.high, b);
  return exact_sum(sum.high, sum.low + a.low);
}

ASSAY_INLINE Pair operator*(Pair a, Pair b) {
  const Pair product = wide_product(a.high, b.high);
  return exact_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
