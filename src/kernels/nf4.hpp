// Nf4: a matrix in 4 bits a number, and its way there and back.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>

#include "kernels/dispatch.hpp"
#include "numerics/nf4.hpp"
#include "numerics/order.hpp"

namespace assay::kernels {

struct Nf4Options {
  std::int64_t block = 64;          ///< numbers that share a scale: a power of two from 32 to 4096
  bool double_quantisation = true;  ///< whether the scales are stored in 8 bits
};

/// A matrix [rows, columns] as codes. Its numbers are taken row by row in blocks of `block`, the last of which may be
/// shorter; numerics/nf4.hpp says what the three tensors hold.
struct Nf4 {
  Shape shape;             ///< [rows, columns]
  std::int64_t block = 0;  ///< numbers that share a scale
  Tensor codes;            ///< uint8 [⌈rows·columns / 2⌉]
  Tensor scale_codes;      ///< uint8, one a block; none without double quantisation
  Tensor scales;           ///< one a block; with double quantisation the offset, and one for each 256 blocks

  std::int64_t blocks() const { return (shape.size() + block - 1) / block; }
  /// Of all that is stored.
  std::int64_t bytes() const {
    return codes.size() + scale_codes.size() + scales.size() * static_cast<std::int64_t>(sizeof(float));
  }
};

/// The elements of a tensor of real numbers, as binary32.
inline std::vector<float> floats_of(const Tensor& x) {
  return with_type(x.dtype(), [&](auto zero) {
    const auto values = x.read<decltype(zero)>();
    std::vector<float> floats;
    for (auto value : values) floats.push_back(static_cast<float>(value));
    return floats;
  });
}

/// Refuses another block than those of Nf4Options. Errors: NF4-1.
inline void require_block(std::int64_t block) {
  if ((block < 32 || block > 4096 || !std::has_single_bit(static_cast<std::uint64_t>(block))) &&
      !sabotaged("nf4_takes_any_block"))
    throw Error("NF4-1", "quantise", "a block of 32, 64, … 4096 numbers", std::to_string(block));
}

/// A matrix in 4 bits a number. Scale of a block: its largest magnitude s. Code of x: the nearest to x ÷ s, rounded to
/// binary32, of two as near the lower one; a block of zeros has scale 0 and codes 7. Double quantisation: the offset is
/// the mean of all scales (their sum in lane order N3, ÷ their number), t the largest magnitude of s − offset in a
/// group of 256 scales, and a scale's code 128 + round(127·(s − offset) ÷ t), halves away from zero. It is done on the
/// host. Errors: NF4-1 for another block or something that is no matrix, or is not finite.
///
///     Nf4 packed = quantise(weight, {.block = 64});
inline Nf4 quantise(const Tensor& matrix, const Nf4Options& options) {
  require_block(options.block);
  if (matrix.shape().rank() != 2 || matrix.size() == 0)
    throw Error("NF4-1", "quantise", "a matrix [rows, columns] with elements", to_string(matrix.shape()));
  const std::vector<float> x = floats_of(matrix);
  if (auto bad = std::find_if_not(x.begin(), x.end(), [](float v) { return numerics::is_finite(v); });
      bad != x.end() && !sabotaged("nf4_takes_infinities"))
    throw Error("NF4-1", "quantise", "finite elements",
                std::to_string(*bad) + " at element " + std::to_string(bad - x.begin()));

  Nf4 packed{matrix.shape(), options.block, {}, {}, {}};
  const auto block = static_cast<std::size_t>(options.block), blocks = static_cast<std::size_t>(packed.blocks());
  std::vector<float> scales(blocks);
  std::vector<std::uint8_t> codes((x.size() + 1) / 2), scale_codes;
  for (std::size_t i = 0; i < x.size(); ++i) scales[i / block] = std::max(scales[i / block], x[i] < 0 ? -x[i] : x[i]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scale = scales[i / block];
    unsigned code = scale == 0 ? numerics::nf4_code_of_zero : numerics::nf4_code(x[i] / scale);
    if (scale == 0 && sabotaged("nf4_zeros_have_code_0")) code = 0;
    if (sabotaged("nf4_rounds_up")) code = std::min(15u, code + 1);
    codes[i / 2] |= static_cast<std::uint8_t>(code << ((i % 2 == 1) != sabotaged("nf4_first_number_high") ? 4 : 0));
  }
  if (options.double_quantisation) {
    constexpr auto group = static_cast<std::size_t>(numerics::nf4_scales_in_group);
    float offset = numerics::lane_sum(blocks, [&](std::size_t b) { return scales[b]; }) / static_cast<float>(blocks);
    if (sabotaged("nf4_offset_is_zero")) offset = 0;
    if (!numerics::is_finite(offset))
      throw Error("NF4-2", "quantise", "scales whose sum is finite", std::to_string(offset));
    std::vector<float> largest(1 + (blocks + group - 1) / group);
    largest[0] = offset;
    for (std::size_t b = 0; b < blocks; ++b) {
      float& most = largest[1 + b / group];
      most = std::max(most, scales[b] < offset ? offset - scales[b] : scales[b] - offset);
    }
    for (std::size_t b = 0; b < blocks; ++b)
      scale_codes.push_back(numerics::nf4_scale_code(scales[b] - offset, largest[1 + b / group]));
    scales = largest;
  }
  auto tensor = [&](const auto& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())}, matrix.device()).keep();
  };
  packed.codes = tensor(codes);
  packed.scale_codes = tensor(scale_codes);
  packed.scales = tensor(scales);
  return packed;
}

/// The matrix that the codes stand for, in binary32, on the device of the codes.
inline Tensor dequantise(const Nf4& packed) {
  const auto codes = packed.codes.read<std::uint8_t>(), scale_codes = packed.scale_codes.read<std::uint8_t>();
  const std::vector<float> scales = floats_of(packed.scales);
  const numerics::Nf4Numbers numbers{codes.data(), scale_codes.size() ? scale_codes.data() : nullptr, scales.data(),
                                     packed.block};
  std::vector<float> values(static_cast<std::size_t>(packed.shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = numbers.number(static_cast<std::int64_t>(i));
  return Tensor::from(values, packed.shape, packed.codes.device());
}

/// Refuses what `quantise` cannot have made, field by field, as of a file. Errors: NF4-4 naming `where` and the field.
inline void require_valid(const Nf4& packed, const std::string& where) {
  auto fail = [&](const char* field, const std::string& expected, const std::string& found) {
    throw Error("NF4-4", where + ", " + field, expected, found);
  };
  auto count_is = [&](const char* field, const Tensor& values, std::int64_t count) {
    if (values.shape().rank() != 1 || values.size() != count)
      fail(field, std::to_string(count) + " of them", to_string(values.shape()));
  };
  const Shape& shape = packed.shape;
  if (sabotaged("nf4_imports_anything")) return;
  if (shape.rank() != 2 || shape.size() == 0) fail("shape", "a matrix with elements", to_string(shape));
  if (packed.block < 32 || packed.block > 4096 || !std::has_single_bit(static_cast<std::uint64_t>(packed.block)))
    fail("block", "32, 64, … or 4096", std::to_string(packed.block));
  count_is("codes", packed.codes, (shape.size() + 1) / 2);
  const bool in_groups = packed.scale_codes.size() != 0;
  const std::int64_t blocks = packed.blocks(), group = numerics::nf4_scales_in_group;
  if (in_groups) count_is("scale codes", packed.scale_codes, blocks);
  count_is("scales", packed.scales, in_groups ? 1 + (blocks + group - 1) / group : blocks);
  const auto codes = packed.codes.read<std::uint8_t>();
  if (shape.size() % 2 == 1 && codes[codes.size() - 1] > 15)
    fail("codes", "no number after the last", "byte " + std::to_string(codes[codes.size() - 1]));
  for (std::uint8_t code : packed.scale_codes.read<std::uint8_t>())
    if (code == 0) fail("scale codes", "1 to 255", "0");
  for (float scale : floats_of(packed.scales))
    if (!numerics::is_finite(scale) || scale < 0) fail("scales", "finite and not negative", std::to_string(scale));
}

}  // namespace assay::kernels
