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

inline constexpr int philox_rounds = 10;

/// The key of a round: both words grow by a constant from one round to the next.
struct PhiloxKey {
  std::uint32_t low, high;
  ASSAY_INLINE explicit PhiloxKey(std::uint64_t key)
      : low(static_cast<std::uint32_t>(key)), high(static_cast<std::uint32_t>(key >> 32)) {}
  ASSAY_INLINE void next() {
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
};

ASSAY_INLINE void philox_round(std::uint32_t& w0, std::uint32_t& w1, std::uint32_t& w2, std::uint32_t& w3,
                               const PhiloxKey& key) {
  const std::uint64_t a = std::uint64_t{0xD2511F53u} * w0;
  const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * w2;
  w0 = static_cast<std::uint32_t>(b >> 32) ^ w1 ^ key.low;
  w1 = static_cast<std::uint32_t>(b);
  w2 = static_cast<std::uint32_t>(a >> 32) ^ w3 ^ key.high;
  w3 = static_cast<std::uint32_t>(a);
}

/// Ten rounds of Philox4x32 under `key` (low word first).
/// Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
ASSAY_INLINE PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  PhiloxKey round_key(key);
  for (int round = 0; round < philox_rounds; ++round, round_key.next())
    philox_round(counter.word[0], counter.word[1], counter.word[2], counter.word[3], round_key);
  return counter;
}

/// Block `i` of draw `draw`.
ASSAY_INLINE PhiloxBlock random_block(std::uint64_t key, std::uint64_t i, std::uint64_t draw) {
  return philox({{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), static_cast<std::uint32_t>(draw),
                  static_cast<std::uint32_t>(draw >> 32)}},
                key);
}

/// A word as a number from [0, 1), a multiple of 2⁻²⁴.
ASSAY_INLINE float unit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

/// Element n of a uniform draw from [0, 1), a multiple of 2⁻²⁴: word n mod 4 of block n div 4.
///
///     uniform(stream.key(), n, stream.next_draw().index) >= p;  // keeps element n under dropout
ASSAY_INLINE float uniform(std::uint64_t key, std::uint64_t n, std::uint64_t draw) {
  return unit(random_block(key, n / 4, draw).word[n % 4]);
}

/// Calls use(i, u) with element first + i of a uniform draw, for i = 0 … count − 1: many times faster than one by one.
///
///     uniforms(key, first, mask.size(), draw, [&](std::uint64_t i, float u) { mask[i] = u >= p; });
template <typename Use>
ASSAY_INLINE void uniforms(std::uint64_t key, std::uint64_t first, std::uint64_t count, std::uint64_t draw, Use use) {
  constexpr std::uint64_t side_by_side = 64;  // blocks, in loops that compilers turn into vectors
  constexpr std::uint64_t elements = 4 * side_by_side;
  for (std::uint64_t begin = first / elements * elements; begin < first + count; begin += elements) {
    std::uint32_t w0[side_by_side], w1[side_by_side], w2[side_by_side], w3[side_by_side];
    for (std::uint64_t l = 0; l < side_by_side; ++l) {
      const std::uint64_t block = begin / 4 + l;
      w0[l] = static_cast<std::uint32_t>(block);
      w1[l] = static_cast<std::uint32_t>(block >> 32);
      w2[l] = static_cast<std::uint32_t>(draw);
      w3[l] = static_cast<std::uint32_t>(draw >> 32);
    }
    PhiloxKey round_key(key);
    for (int round = 0; round < philox_rounds; ++round, round_key.next())
      for (std::uint64_t l = 0; l < side_by_side; ++l) philox_round(w0[l], w1[l], w2[l], w3[l], round_key);
    std::uint32_t words[elements];
    for (std::uint64_t l = 0; l < side_by_side; ++l) {
      words[4 * l] = w0[l];
      words[4 * l + 1] = w1[l];
      words[4 * l + 2] = w2[l];
      words[4 * l + 3] = w3[l];
    }
    const std::uint64_t skipped = begin < first ? first - begin : 0;
    const std::uint64_t left = first + count - begin, end = left < elements ? left : elements;
    for (std::uint64_t i = skipped; i < end; ++i) use(begin + i - first, unit(words[i]));
  }
}

/// Element n of a standard normal draw, in binary32 with every product rounded: words a = 2(n mod 2) and a + 1 of block
/// n div 2 give √(−2·log u) · cos(2π·v), u in (0, 1], v in [0, 1). |z| ≤ 5.77.
/// Source: G. Box, M. Muller, "A note on the generation of random normal deviates" (1958).
ASSAY_INLINE float normal(std::uint64_t key, std::uint64_t n, std::uint64_t draw) {
  const PhiloxBlock block = random_block(key, n / 2, draw);
  const std::uint32_t first = block.word[2 * (n % 2)];
  const std::uint32_t second = block.word[2 * (n % 2) + 1];
  const float u = static_cast<float>((first >> 8) + 1) * 0x1p-24f;
  const float v = unit(second);
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
