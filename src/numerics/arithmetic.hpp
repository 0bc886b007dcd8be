// Scalar arithmetic whose bits are specified: fma, maximum, relu, the canonical NaN (N1).
#pragma once

#include <bit>
#include <cstdint>

#include "numerics/isa.hpp"
#ifdef ASSAY_HYPOTHESIS
#include "numerics/hypothesis.hpp"

/// The first line of an elementary function: the value of libm instead, where the hypothesis says so.
#define ASSAY_OR_LIBM(value) \
  if (arithmetic()->libm) return value;
#else
#define ASSAY_OR_LIBM(value)
#endif

namespace assay::numerics {
inline namespace ASSAY_ISA {

inline constexpr std::uint32_t canonical_nan_32 = 0x7fc00000u;
inline constexpr std::uint64_t canonical_nan_64 = 0x7ff8000000000000u;

/// The bits of `x`, with one pattern for every NaN; the two zeros stay apart.
ASSAY_INLINE std::uint32_t canonical_bits(float x) {
  return x == x ? std::bit_cast<std::uint32_t>(x) : canonical_nan_32;
}
ASSAY_INLINE std::uint64_t canonical_bits(double x) {
  return x == x ? std::bit_cast<std::uint64_t>(x) : canonical_nan_64;
}

/// `sum + error` rounded to odd, where `sum` is that value rounded to nearest: when something was lost, the neighbour
/// of the exact value whose last bit is 1. Rounding the result to binary32 then equals rounding the exact value once.
/// Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
/// odd", IEEE Transactions on Computers 57 (2008).
ASSAY_INLINE double round_to_odd(double sum, double error) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  const std::uint64_t inwards = (std::bit_cast<std::uint64_t>(error) ^ bits) >> 63;
  std::uint64_t step = ~bits & 1;  // selects on integers, no bool: so GCC vectorises a loop over this
  step = error != 0 ? step : 0;
  step = sum - sum == 0 ? step : 0;  // an infinity or a NaN stays
  return std::bit_cast<double>(bits + step - ((step & inwards) << 1));
}

/// a·b + c rounded once to binary32, by the instruction or with the same bits by exact binary64 arithmetic.
ASSAY_INLINE float fma(float a, float b, float c) {
#ifdef ASSAY_HYPOTHESIS
  if (!arithmetic()->fused) return a * b + c;
#endif
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  const double product = static_cast<double>(a) * static_cast<double>(b);  // exact: 48 bits
  const double addend = c;
  const double sum = product + addend;
  const double taken = sum - product;
  const double error = (product - (sum - taken)) + (addend - taken);  // exact (Knuth's TwoSum)
  return static_cast<float>(round_to_odd(sum, error));
#endif
}
float fma(double, double, double) = delete;  // binary64 uses no fma at all: `multiply_add`

/// The a·b + c of sums of products: fma in binary32, × then + (two roundings) in binary64.
ASSAY_INLINE float multiply_add(float a, float b, float c) { return fma(a, b, c); }
ASSAY_INLINE double multiply_add(double a, double b, double c) { return a * b + c; }
#ifdef ASSAY_HYPOTHESIS
ASSAY_INLINE double multiply_add(float a, float b, double c) { return static_cast<double>(a) * b + c; }
#endif

/// √x, rounded once (IEEE 754); x < 0 gives NaN.
#ifdef __CUDA_ARCH__
ASSAY_INLINE double square_root(double x) { return __dsqrt_rn(x); }
ASSAY_INLINE float square_root(float x) { return __fsqrt_rn(x); }
#else
ASSAY_INLINE double square_root(double x) { return __builtin_sqrt(x); }
ASSAY_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
#endif

/// A polynomial in binary64 by Horner's rule, highest power first: (first·x + rest₀)·x + rest₁ …
template <typename... Rest>
ASSAY_INLINE double polynomial(double x, double first, Rest... rest) {
  double p = first;
  ((p = p * x + rest), ...);
  return p;
}

/// The same in two chains of half the length, the odd and the even powers, for loops over vectors: there the length of
/// the chain is what takes time. `x_squared` is x·x.
struct OddEven {
  double odd, even;
};
ASSAY_INLINE OddEven odd_even(double, OddEven sum) { return sum; }
template <typename... Rest>
ASSAY_INLINE OddEven odd_even(double x_squared, OddEven sum, double odd, double even, Rest... rest) {
  return odd_even(x_squared, OddEven{sum.odd * x_squared + odd, sum.even * x_squared + even}, rest...);
}
template <typename... Rest>
ASSAY_INLINE double polynomial_in_halves(double x, double x_squared, double odd, double even, Rest... rest) {
  static_assert(sizeof...(Rest) % 2 == 0, "as many odd as even powers");
  const OddEven sum = odd_even(x_squared, {odd, even}, rest...);
  return sum.odd * x + sum.even;
}

/// a where `condition`, else b, on bits: compilers then compute each side once for a whole vector, and never branch.
ASSAY_INLINE double select(bool condition, double a, double b) {
  const std::uint64_t mask = -static_cast<std::uint64_t>(condition);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}

/// x with a magnitude of at most `most` > 0, for the same reason on integers; a NaN becomes ±most.
ASSAY_INLINE float limited(float x, float most) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), limit = std::bit_cast<std::uint32_t>(most);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  return std::bit_cast<float>((magnitude < limit ? magnitude : limit) | (bits & 0x80000000u));
}

/// The larger of two; NaN wins over every number and +0 over −0, so a maximum over many needs no order.
///
///     maximum(-0.0f, 0.0f);  // +0
ASSAY_INLINE float maximum(float a, float b) {
  const float both = std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & std::bit_cast<std::uint32_t>(b));
  return (a > b || a != a) ? a : a == b ? both : b;
}
ASSAY_INLINE double maximum(double a, double b) {
  const double both = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & std::bit_cast<std::uint64_t>(b));
  return (a > b || a != a) ? a : a == b ? both : b;
}

/// Whether x is neither NaN nor infinite.
ASSAY_INLINE bool is_finite(float x) { return x - x == 0; }

/// x where x is positive or NaN, else +0.
template <typename T>
ASSAY_INLINE T relu(T x) {
  return !(x <= 0) ? x : T(0);
}

/// The gradient of `relu` at input x: selects, so an infinite or NaN upstream does not leak through a closed gate.
template <typename T>
ASSAY_INLINE T relu_gradient(T x, T upstream) {
  return !(x <= 0) ? upstream : T(0);
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
