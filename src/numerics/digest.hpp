// The 64-bit digest of element data (N9).
#pragma once

#include <cstddef>
#include <cstdint>

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// What one 32-bit word adds to a digest: SplitMix64's finaliser of 2³²·index + bits + 0x9E3779B97F4A7C15.
/// Source: S. Vigna, splitmix64 (2015); G. Steele et al., "Fast splittable pseudorandom number generators" (2014).
ASSAY_INLINE std::uint64_t digest_term(std::uint64_t index, std::uint32_t bits) {
  std::uint64_t z = (index << 32) + bits + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// What element `index` adds to its tensor's digest. 32-bit types and bytes (extended by zeros) are one word, with the
/// element's index; 64-bit types are the words 2·index (low) and 2·index + 1. Every NaN counts as the canonical one.
ASSAY_INLINE std::uint64_t digest_element(std::uint64_t index, std::uint64_t value) {
  return digest_term(2 * index, static_cast<std::uint32_t>(value)) +
         digest_term(2 * index + 1, static_cast<std::uint32_t>(value >> 32));
}
ASSAY_INLINE std::uint64_t digest_element(std::uint64_t index, double value) {
  return digest_element(index, canonical_bits(value));
}
ASSAY_INLINE std::uint64_t digest_element(std::uint64_t index, float value) {
  return digest_term(index, canonical_bits(value));
}
ASSAY_INLINE std::uint64_t digest_element(std::uint64_t index, std::int32_t value) {
  return digest_term(index, static_cast<std::uint32_t>(value));
}
ASSAY_INLINE std::uint64_t digest_element(std::uint64_t index, std::uint8_t value) { return digest_term(index, value); }

/// Digest of `count` elements that stand at `first_index` … of the logical tensor: Σ digest_element mod 2⁶⁴.
///
/// A sum of integers: pieces with their own `first_index` add up to the digest of the whole, in any order.
///
///     digest(x, n) == digest(x, k) + digest(x + k, n - k, k);
template <typename T>
ASSAY_INLINE std::uint64_t digest(const T* data, std::size_t count, std::uint64_t first_index = 0) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += digest_element(first_index + i, data[i]);
  return sum;
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
