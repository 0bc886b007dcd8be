// SHA-256 of bytes, fed piece by piece.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace assay {

/// SHA-256 (FIPS 180-4) over everything given to `update`, in that order.
///
///     Sha256 hash;
///     hash.update(std::as_bytes(std::span(text)));
///     std::string digest = to_hex(hash.finish());
class Sha256 {
 public:
  using Digest = std::array<std::byte, 32>;

  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// The digest of all bytes so far; the object cannot be used afterwards.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Lower-case hexadecimal, two digits a byte, first byte first.
std::string to_hex(std::span<const std::byte> bytes);

/// SHA-256 of a whole file as 64 hexadecimal digits. Throws FILE-3 naming the path when it cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace assay
