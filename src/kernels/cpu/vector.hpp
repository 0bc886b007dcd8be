// Vector: as many floats as one register of the instruction set holds, and the few operations that kernels need.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "numerics/arithmetic.hpp"

namespace assay::kernels::ASSAY_ISA {

// first_lanes takes 0 … vector_width; a masked load has +0 in the other lanes; select(mask, a, b) is a where the mask
// is set; maximum is N1's; same_lanes has bit l where lane l of both has the same bits or is NaN; lane l of
// exchanged<w>(x) is lane l ^ w of x.

#if defined(__AVX512F__)

inline constexpr int vector_width = 16;
inline constexpr int vector_registers = 32;

struct Vector {
  __m512 lanes;
};
struct Mask {
  __mmask16 lanes;
};
// Where it is given, the intrinsic without a mask has a variable that GCC 12 warns is not initialised.
inline constexpr __mmask16 all = 0xffff;
ASSAY_INLINE Mask first_lanes(std::int64_t count) { return {static_cast<__mmask16>((1u << count) - 1)}; }
ASSAY_INLINE Vector zero() { return {_mm512_setzero_ps()}; }
ASSAY_INLINE Vector broadcast(float x) { return {_mm512_set1_ps(x)}; }
ASSAY_INLINE Vector load(const float* from) { return {_mm512_loadu_ps(from)}; }
ASSAY_INLINE Vector load(const float* from, Mask mask) { return {_mm512_maskz_loadu_ps(mask.lanes, from)}; }
ASSAY_INLINE void store(float* to, Vector x) { _mm512_storeu_ps(to, x.lanes); }
ASSAY_INLINE void store(float* to, Vector x, Mask mask) { _mm512_mask_storeu_ps(to, mask.lanes, x.lanes); }
ASSAY_INLINE Vector add(Vector a, Vector b) { return {_mm512_add_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector subtract(Vector a, Vector b) { return {_mm512_sub_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector multiply(Vector a, Vector b) { return {_mm512_mul_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector divide(Vector a, Vector b) { return {_mm512_div_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes)}; }
ASSAY_INLINE Vector select(Mask mask, Vector a, Vector b) { return {_mm512_mask_mov_ps(b.lanes, mask.lanes, a.lanes)}; }
ASSAY_INLINE Vector maximum(Vector a, Vector b) {
  const Mask equal{_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_EQ_OQ)},
      nan{_mm512_cmp_ps_mask(a.lanes, a.lanes, _CMP_UNORD_Q)};
  const Vector larger{_mm512_maskz_max_ps(all, a.lanes, b.lanes)}, both{_mm512_and_ps(a.lanes, b.lanes)};
  return select(nan, a, select(equal, both, larger));
}
template <int w>
ASSAY_INLINE Vector exchanged(Vector x) {
  if constexpr (w == 8) return {_mm512_maskz_shuffle_f32x4(all, x.lanes, x.lanes, 0x4e)};
  if constexpr (w == 4) return {_mm512_maskz_shuffle_f32x4(all, x.lanes, x.lanes, 0xb1)};
  if constexpr (w == 2) return {_mm512_maskz_permute_ps(all, x.lanes, 0x4e)};
  if constexpr (w == 1) return {_mm512_maskz_permute_ps(all, x.lanes, 0xb1)};
}
ASSAY_INLINE float first_of(Vector x) { return _mm512_cvtss_f32(x.lanes); }
ASSAY_INLINE std::uint32_t same_lanes(Vector a, Vector b) {
  const __mmask16 nan =
      _mm512_cmp_ps_mask(a.lanes, a.lanes, _CMP_UNORD_Q) & _mm512_cmp_ps_mask(b.lanes, b.lanes, _CMP_UNORD_Q);
  return nan | _mm512_cmpeq_epi32_mask(_mm512_castps_si512(a.lanes), _mm512_castps_si512(b.lanes));
}

#elif defined(__AVX2__)

inline constexpr int vector_width = 8;
inline constexpr int vector_registers = 16;

struct Vector {
  __m256 lanes;
};
struct Mask {
  __m256i lanes;
};
ASSAY_INLINE Mask first_lanes(std::int64_t count) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return {_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index)};
}
ASSAY_INLINE Vector zero() { return {_mm256_setzero_ps()}; }
ASSAY_INLINE Vector broadcast(float x) { return {_mm256_set1_ps(x)}; }
ASSAY_INLINE Vector load(const float* from) { return {_mm256_loadu_ps(from)}; }
ASSAY_INLINE Vector load(const float* from, Mask mask) { return {_mm256_maskload_ps(from, mask.lanes)}; }
ASSAY_INLINE void store(float* to, Vector x) { _mm256_storeu_ps(to, x.lanes); }
ASSAY_INLINE void store(float* to, Vector x, Mask mask) { _mm256_maskstore_ps(to, mask.lanes, x.lanes); }
ASSAY_INLINE Vector add(Vector a, Vector b) { return {_mm256_add_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector subtract(Vector a, Vector b) { return {_mm256_sub_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector multiply(Vector a, Vector b) { return {_mm256_mul_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector divide(Vector a, Vector b) { return {_mm256_div_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.lanes, b.lanes, c.lanes)}; }
ASSAY_INLINE Vector select(Mask mask, Vector a, Vector b) {
  return {_mm256_blendv_ps(b.lanes, a.lanes, _mm256_castsi256_ps(mask.lanes))};
}
ASSAY_INLINE Vector maximum(Vector a, Vector b) {
  const __m256 equal = _mm256_cmp_ps(a.lanes, b.lanes, _CMP_EQ_OQ), nan = _mm256_cmp_ps(a.lanes, a.lanes, _CMP_UNORD_Q);
  const __m256 larger = _mm256_max_ps(a.lanes, b.lanes), both = _mm256_and_ps(a.lanes, b.lanes);
  return {_mm256_blendv_ps(_mm256_blendv_ps(larger, both, equal), a.lanes, nan)};
}
template <int w>
ASSAY_INLINE Vector exchanged(Vector x) {
  if constexpr (w == 4) return {_mm256_permute2f128_ps(x.lanes, x.lanes, 1)};
  if constexpr (w == 2) return {_mm256_permute_ps(x.lanes, 0x4e)};
  if constexpr (w == 1) return {_mm256_permute_ps(x.lanes, 0xb1)};
}
ASSAY_INLINE float first_of(Vector x) { return _mm256_cvtss_f32(x.lanes); }
ASSAY_INLINE std::uint32_t same_lanes(Vector a, Vector b) {
  const __m256 nan =
      _mm256_and_ps(_mm256_cmp_ps(a.lanes, a.lanes, _CMP_UNORD_Q), _mm256_cmp_ps(b.lanes, b.lanes, _CMP_UNORD_Q));
  const __m256i equal = _mm256_cmpeq_epi32(_mm256_castps_si256(a.lanes), _mm256_castps_si256(b.lanes));
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_or_ps(nan, _mm256_castsi256_ps(equal))));
}

#else

inline constexpr int vector_width = 4;
inline constexpr int vector_registers = 16;

struct Vector {
  __m128 lanes;
};
struct Mask {
  std::int64_t count;
};
ASSAY_INLINE Mask first_lanes(std::int64_t count) { return {count}; }
ASSAY_INLINE Vector zero() { return {_mm_setzero_ps()}; }
ASSAY_INLINE Vector broadcast(float x) { return {_mm_set1_ps(x)}; }
ASSAY_INLINE Vector load(const float* from) { return {_mm_loadu_ps(from)}; }
ASSAY_INLINE Vector load(const float* from, Mask mask) {
  float lanes[4] = {};
  for (std::int64_t i = 0; i < mask.count; ++i) lanes[i] = from[i];
  return load(lanes);
}
ASSAY_INLINE void store(float* to, Vector x) { _mm_storeu_ps(to, x.lanes); }
ASSAY_INLINE void store(float* to, Vector x, Mask mask) {
  for (std::int64_t i = 0; i < mask.count; ++i) to[i] = x.lanes[i];
}
ASSAY_INLINE Vector add(Vector a, Vector b) { return {_mm_add_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector subtract(Vector a, Vector b) { return {_mm_sub_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector multiply(Vector a, Vector b) { return {_mm_mul_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector divide(Vector a, Vector b) { return {_mm_div_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector fma(Vector a, Vector b, Vector c) {
  float x[4], y[4], sum[4];
  store(x, a);
  store(y, b);
  store(sum, c);
  for (int i = 0; i < 4; ++i) sum[i] = numerics::fma(x[i], y[i], sum[i]);
  return load(sum);
}
ASSAY_INLINE Vector select(__m128 mask, Vector a, Vector b) {
  return {_mm_or_ps(_mm_and_ps(mask, a.lanes), _mm_andnot_ps(mask, b.lanes))};
}
ASSAY_INLINE Vector select(Mask mask, Vector a, Vector b) {
  const __m128i count = _mm_set1_epi32(static_cast<int>(mask.count));
  return select(_mm_castsi128_ps(_mm_cmpgt_epi32(count, _mm_setr_epi32(0, 1, 2, 3))), a, b);
}
ASSAY_INLINE Vector maximum(Vector a, Vector b) {
  const Vector larger{_mm_max_ps(a.lanes, b.lanes)}, both{_mm_and_ps(a.lanes, b.lanes)};
  return select(_mm_cmpunord_ps(a.lanes, a.lanes), a, select(_mm_cmpeq_ps(a.lanes, b.lanes), both, larger));
}
ASSAY_INLINE std::uint32_t same_lanes(Vector a, Vector b) {
  const __m128 nan = _mm_and_ps(_mm_cmpunord_ps(a.lanes, a.lanes), _mm_cmpunord_ps(b.lanes, b.lanes));
  const __m128i equal = _mm_cmpeq_epi32(_mm_castps_si128(a.lanes), _mm_castps_si128(b.lanes));
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_or_ps(nan, _mm_castsi128_ps(equal))));
}
template <int w>
ASSAY_INLINE Vector exchanged(Vector x) {
  return {_mm_shuffle_ps(x.lanes, x.lanes, w == 2 ? 0x4e : 0xb1)};
}
ASSAY_INLINE float first_of(Vector x) { return _mm_cvtss_f32(x.lanes); }

#endif

/// Lane l and lane l + w by `operation`, for w = width / 2 … 1: lane 0 in the end.
template <class Operation>
ASSAY_INLINE float fold(Vector x, Operation operation) {
  if constexpr (vector_width > 8) x = operation(x, exchanged<8>(x));
  if constexpr (vector_width > 4) x = operation(x, exchanged<4>(x));
  x = operation(x, exchanged<2>(x));
  return first_of(operation(x, exchanged<1>(x)));
}

/// Calls body(i) for each whole vector of `count` elements, and body(i, mask) for the rest.
template <class Body>
ASSAY_INLINE void for_vectors(std::int64_t count, Body body) {
  std::int64_t i = 0;
  for (; i + vector_width <= count; i += vector_width) body(i);
  if (i < count) body(i, first_lanes(count - i));
}

}  // namespace assay::kernels::ASSAY_ISA
