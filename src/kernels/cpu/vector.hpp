// Vector: as many floats as one register of the instruction set holds, and the few operations that kernels need.
#pragma once

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "numerics/arithmetic.hpp"

namespace assay::kernels::ASSAY_ISA {

#if defined(__AVX512F__)

inline constexpr int vector_width = 16;
inline constexpr int vector_registers = 32;

struct Vector {
  __m512 lanes;
};
struct Mask {
  __mmask16 lanes;
};
ASSAY_INLINE Mask first_lanes(std::int64_t count) { return {static_cast<__mmask16>((1u << count) - 1)}; }
ASSAY_INLINE Vector zero() { return {_mm512_setzero_ps()}; }
ASSAY_INLINE Vector broadcast(float x) { return {_mm512_set1_ps(x)}; }
ASSAY_INLINE Vector load(const float* from) { return {_mm512_loadu_ps(from)}; }
ASSAY_INLINE Vector load(const float* from, Mask mask) { return {_mm512_maskz_loadu_ps(mask.lanes, from)}; }
ASSAY_INLINE void store(float* to, Vector x) { _mm512_storeu_ps(to, x.lanes); }
ASSAY_INLINE void store(float* to, Vector x, Mask mask) { _mm512_mask_storeu_ps(to, mask.lanes, x.lanes); }
ASSAY_INLINE Vector add(Vector a, Vector b) { return {_mm512_add_ps(a.lanes, b.lanes)}; }
ASSAY_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes)}; }

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
ASSAY_INLINE Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.lanes, b.lanes, c.lanes)}; }

#else

inline constexpr int vector_width = 4;
inline constexpr int vector_registers = 16;

struct Vector {
  float lanes[4];
};
struct Mask {
  std::int64_t count;
};
ASSAY_INLINE Mask first_lanes(std::int64_t count) { return {count}; }
ASSAY_INLINE Vector zero() { return {}; }
ASSAY_INLINE Vector broadcast(float x) { return {{x, x, x, x}}; }
ASSAY_INLINE Vector load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
ASSAY_INLINE Vector load(const float* from, Mask mask) {
  Vector x{};
  for (std::int64_t i = 0; i < mask.count; ++i) x.lanes[i] = from[i];
  return x;
}
ASSAY_INLINE void store(float* to, Vector x) {
  for (int i = 0; i < 4; ++i) to[i] = x.lanes[i];
}
ASSAY_INLINE void store(float* to, Vector x, Mask mask) {
  for (std::int64_t i = 0; i < mask.count; ++i) to[i] = x.lanes[i];
}
ASSAY_INLINE Vector add(Vector a, Vector b) {
  Vector sum;
  for (int i = 0; i < 4; ++i) sum.lanes[i] = a.lanes[i] + b.lanes[i];
  return sum;
}
ASSAY_INLINE Vector fma(Vector a, Vector b, Vector c) {
  Vector sum;
  for (int i = 0; i < 4; ++i) sum.lanes[i] = numerics::fma(a.lanes[i], b.lanes[i], c.lanes[i]);
  return sum;
}

#endif

}  // namespace assay::kernels::ASSAY_ISA
