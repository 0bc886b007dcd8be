// NF4: numbers in 4 bits, a scale for each block of them, and the scales themselves in 8 bits.
#pragma once

#include <cstdint>

#include "numerics/arithmetic.hpp"
#include "numerics/isa.hpp"

namespace assay::numerics {
inline namespace ASSAY_ISA {

inline constexpr unsigned nf4_code_of_zero = 7;
inline constexpr std::uint8_t nf4_code_of_mean = 128;
inline constexpr std::int64_t nf4_scales_in_group = 256;

/// The number that a code 0 … 15 stands for, in units of its block's scale.
/// Source: T. Dettmers et al., "QLoRA: efficient finetuning of quantized LLMs" (2023), appendix E.
ASSAY_INLINE float nf4_number(unsigned code) {
  constexpr float numbers[16] = {-1.0f,
                                 -0.6961928009986877f,
                                 -0.5250730514526367f,
                                 -0.39491748809814453f,
                                 -0.28444138169288635f,
                                 -0.18477343022823334f,
                                 -0.09105003625154495f,
                                 0.0f,
                                 0.07958029955625534f,
                                 0.16093020141124725f,
                                 0.24611230194568634f,
                                 0.33791524171829224f,
                                 0.44070982933044434f,
                                 0.5626170039176941f,
                                 0.7229568362236023f,
                                 1.0f};
  return numbers[code];
}

/// The code whose number is nearest to x, of two as near the lower one. The comparison is exact: 2x and the sum of two
/// neighbours are binary64 numbers.
ASSAY_INLINE unsigned nf4_code(float x) {
  unsigned code = 0;
  for (unsigned c = 0; c < 15; ++c)
    code += 2 * static_cast<double>(x) > static_cast<double>(nf4_number(c)) + static_cast<double>(nf4_number(c + 1));
  return code;
}

/// 128 + round(127·difference ÷ largest), halves away from zero; `difference` is scale − offset, `largest` the largest
/// magnitude of its group. 128 where that is 0.
ASSAY_INLINE std::uint8_t nf4_scale_code(float difference, float largest) {
  if (largest == 0) return nf4_code_of_mean;
  const double steps = 127.0 * static_cast<double>(difference) / static_cast<double>(largest);
  return static_cast<std::uint8_t>(nf4_code_of_mean + static_cast<int>(steps < 0 ? steps - 0.5 : steps + 0.5));
}

/// offset + largest·((code − 128) ÷ 127), each operation rounded, and +0 where that is not above 0: a block's scale is
/// never negative, which would turn the signs of its numbers.
ASSAY_INLINE float nf4_scale(std::uint8_t code, float offset, float largest) {
  return relu(offset + largest * (static_cast<float>(code - nf4_code_of_mean) / 127.0f));
}

/// Packed numbers in memory. Codes stand two a byte, the first in the low half. With scale codes, `scales` is the
/// offset and then a largest difference for each 256 of them; without (null) it is a scale for each block.
struct Nf4Numbers {
  const std::uint8_t* codes;
  const std::uint8_t* scale_codes;
  const float* scales;
  std::int64_t block;

  ASSAY_INLINE unsigned code(std::int64_t index) const { return codes[index / 2] >> (index % 2 * 4) & 15u; }
  /// Of all numbers of block number `index`.
  ASSAY_INLINE float scale(std::int64_t index) const {
    if (!scale_codes) return scales[index];
    return nf4_scale(scale_codes[index], scales[0], scales[1 + index / nf4_scales_in_group]);
  }
  /// One number: its code's times the scale of its block, rounded.
  ASSAY_INLINE float number(std::int64_t index) const { return nf4_number(code(index)) * scale(index / block); }
};

}  // namespace ASSAY_ISA
}  // namespace assay::numerics
