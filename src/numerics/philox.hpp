// Philox4x32-10, the counter-based generator behind every random number, and the element functions over it (N6).
#pragma once

#include <cstdint>

#include "numerics/cos.hpp"
#include "numerics/isa.hpp"
#include "numerics/log.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

/// Four 32-bit words: a counter, or the block generated from it.
struct PhiloxBlock {
  std::uint32_t word[4];
};

/// Ten rounds of Philox4x32 under `key` (low word first).
/// Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
ASSAY_INLINE PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  std::uint32_t key_low = static_cast<std::uint32_t>(key);
  std::uint32_t key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key_low, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key_high, static_cast<std::uint32_t>(a)}};
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return counter;
}

/// Block `i` of draw `draw`.
ASSAY_INLINE PhiloxBlock random_block(std::uint64_t key, std::uint64_t i, std::uint64_t draw) {
  return philox({{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), static_cast<std::uint32_t>(draw),
                  static_cast<std::uint32_t>(draw >> 32)}},
                key);
}

/// Element n of a uniform draw from [0, 1), a multiple of 2⁻²⁴: word n mod 4 of block n div 4.
///
///     uniform(stream.key(), n, stream.next_draw()) >= p;  // keeps element n under dropout
ASSAY_INLINE float uniform(std::uint64_t key, std::uint64_t n, std::uint64_t draw) {
  return static_cast<float>(random_block(key, n / 4, draw).word[n % 4] >> 8) * 0x1p-24f;
}

/// Element n of a standard normal draw, in binary32 with every product rounded: words a = 2(n mod 2) and a + 1 of block
/// n div 2 give √(−2·log u) · cos(2π·v), u in (0, 1], v in [0, 1). |z| ≤ 5.77.
/// Source: G. Box, M. Muller, "A note on the generation of random normal deviates" (1958).
ASSAY_INLINE float normal(std::uint64_t key, std::uint64_t n, std::uint64_t draw) {
  const PhiloxBlock block = random_block(key, n / 2, draw);
  const std::uint32_t first = block.word[2 * (n % 2)];
  const std::uint32_t second = block.word[2 * (n % 2) + 1];
  const float u = static_cast<float>((first >> 8) + 1) * 0x1p-24f;
  const float v = static_cast<float>(second >> 8) * 0x1p-24f;
  return __builtin_sqrtf(-2.0f * log(u)) * cos(0x1.921fb6p+2f * v);
}

/// Element i of a draw from 0 … n − 1: ⌊(w₀ + 2³²·w₁)·n / 2⁶⁴⌋ of block i; n ≥ 1.
ASSAY_INLINE std::uint64_t bounded(std::uint64_t key, std::uint64_t i, std::uint64_t n, std::uint64_t draw) {
  const PhiloxBlock block = random_block(key, i, draw);
  const std::uint64_t n_low = n & 0xffffffffu;
  const std::uint64_t n_high = n >> 32;
  const std::uint64_t low_high = block.word[0] * n_high;
  const std::uint64_t high_low = block.word[1] * n_low + ((block.word[0] * n_low) >> 32);
  const std::uint64_t middle = low_high + (high_low & 0xffffffffu);
  return block.word[1] * n_high + (high_low >> 32) + (middle >> 32);
}

/// Puts `items[0 … count)` into a random order: for i = count − 1 … 1 swaps i with bounded(i + 1) of element i.
///
///     shuffle(order.data(), order.size(), key, epoch);
template <typename T>
inline void shuffle(T* items, std::uint64_t count, std::uint64_t key, std::uint64_t draw) {
  for (std::uint64_t i = count; i-- > 1;) {
    const std::uint64_t j = bounded(key, i, i + 1, draw);
    const T item = items[i];
    items[i] = items[j];
    items[j] = item;
  }
}

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
