// Distance between two floating-point values in units in the last place.
#pragma once

#include <bit>
#include <cstdint>

namespace assay {

/// How many steps from one representable value to the next lead from `a` to `b`.
///
/// −0 and +0 are one step apart (the sign of zero is specified), the largest finite value and infinity also. Two NaNs:
/// 0; a NaN and a number: 2⁶⁴ − 1.
///
///     ulp_distance(1.0f, 1.0f + 0x1p-23f);  // 1
inline std::uint64_t ulp_distance(double a, double b) {
  if (a != a || b != b) return a != a && b != b ? 0 : ~std::uint64_t{0};
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  const auto place = [](std::uint64_t bits) { return bits & sign ? ~bits : bits | sign; };  // ascending with the value
  const std::uint64_t p = place(std::bit_cast<std::uint64_t>(a));
  const std::uint64_t q = place(std::bit_cast<std::uint64_t>(b));
  return p > q ? p - q : q - p;
}
inline std::uint64_t ulp_distance(float a, float b) {
  if (a != a || b != b) return a != a && b != b ? 0 : ~std::uint64_t{0};
  constexpr std::uint32_t sign = std::uint32_t{1} << 31;
  const auto place = [](std::uint32_t bits) { return bits & sign ? ~bits : bits | sign; };
  const std::uint32_t p = place(std::bit_cast<std::uint32_t>(a));
  const std::uint32_t q = place(std::bit_cast<std::uint32_t>(b));
  return p > q ? p - q : q - p;
}

}  // namespace assay
