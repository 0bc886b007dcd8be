// The digest of a list of tensors (N9).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// One tensor as `digest_of_set` sees it: `type` as it is written in files ("f32"), `shape` in elements per axis.
struct DigestedTensor {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::uint64_t digest;
};

/// SHA-256 over (name, type, shape, digest) in list order, as 64 hexadecimal digits.
///
/// Bytes per tensor: the length of the name (8, little endian) and the name; the same for the type; the number of axes
/// (8), each extent (8), the digest (8).
///
///     digest_of_set(std::vector<DigestedTensor>{{"fc1.bias", "f32", {10}, numerics::digest(bias, 10)}});
std::string digest_of_set(std::span<const DigestedTensor> tensors);

}  // namespace assay
