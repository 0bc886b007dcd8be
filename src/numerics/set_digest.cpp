// The digest of a list of tensors (N9).
#include "numerics/set_digest.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include "base/sha256.hpp"

namespace assay {
namespace {

void add_number(Sha256& hash, std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  hash.update(bytes);
}

void add_text(Sha256& hash, std::string_view text) {
  add_number(hash, text.size());
  hash.update(std::as_bytes(std::span(text)));
}

}  // namespace

std::string digest_of_set(std::span<const DigestedTensor> tensors) {
  Sha256 hash;
  for (const DigestedTensor& tensor : tensors) {
    add_text(hash, tensor.name);
    add_text(hash, tensor.type);
    add_number(hash, tensor.shape.size());
    for (const std::int64_t extent : tensor.shape) add_number(hash, static_cast<std::uint64_t>(extent));
    add_number(hash, tensor.digest);
  }
  return to_hex(hash.finish());
}

}  // namespace assay
