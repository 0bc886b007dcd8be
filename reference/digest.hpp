// The digest of the oracle: 32-bit words one after the other.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace assay::reference {

/// What word `bits` at place `i` adds: SplitMix64's finaliser.
inline std::uint64_t mixed_word(std::uint64_t i, std::uint32_t bits) {
  std::uint64_t z = i * 4294967296u + bits + 0x9e3779b97f4a7c15u;
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  z *= 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// Of elements at first_index …: 8-byte types are two words each, low first, a NaN is the quiet one without payload.
template <class T>
std::uint64_t digest(std::span<const T> values, std::uint64_t first_index) {
  constexpr std::uint64_t words_each = sizeof(T) == 8 ? 2 : 1;
  std::uint64_t total = 0, place = first_index * words_each;
  for (T value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(value)) bits = sizeof(T) == 8 ? 0x7ff8000000000000u : 0x7fc00000u;
    for (std::uint64_t word = 0; word < words_each; ++word, bits >>= 32)
      total += mixed_word(place++, static_cast<std::uint32_t>(bits));
  }
  return total;
}

}  // namespace assay::reference
