// Safetensors files: named arrays as other programs exchange them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/array.hpp"

namespace assay {

/// Most bytes of a header that is read; room for tens of thousands of tensors.
inline constexpr std::uint64_t safetensors_header_limit = std::uint64_t{1} << 22;

struct Safetensors {
  std::vector<NamedArray> arrays;  ///< in the order of their values in the file
  std::map<std::string, std::string> metadata = {};

  friend bool operator==(const Safetensors&, const Safetensors&) = default;
};

/// Writes arrays in their order, each in its own type (F32, F64, I32, U8 or U64), whole or not at all as `write_file`.
/// Equal content gives equal bytes.
/// Errors: FILE-2; FILE-3 for a name that is empty, used twice, reserved or no UTF-8.
///
///     save_safetensors("weights.safetensors", {.arrays = {{"fc1.weight", Array::of<float>(values, {2, 3})}}});
void save_safetensors(const std::string& path, const Safetensors& content);

/// Reads a whole file. F32, F64, I32, U8 and U64 keep their type; F16 and BF16 become float32, which is exact, I64
/// becomes int32, BOOL uint8. Values are not judged.
///
/// Guarantee: the header is checked whole before an array is made: its length against file and limit, each name, type
/// and shape, and that the values of all arrays follow each other from the first byte behind it to the last of the
/// file.
/// Errors: FILE-6 naming file and tensor; among them a value of I64 that int32 does not hold.
/// Source: the format's description in github.com/huggingface/safetensors (README, "Format").
///
///     for (const NamedArray& entry : load_safetensors("model.safetensors").arrays) …
Safetensors load_safetensors(const std::string& path);

}  // namespace assay
