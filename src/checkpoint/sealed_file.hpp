// Sealed files: HDF5 behind a 512-byte block that names length and SHA-256, replaced as a whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/hdf5.hpp"

namespace assay {

/// Bytes 0–7 magic "ASSAYH5\n", 8–11 version (u32, little-endian, 1), 12–15 zero, 16–23 length of all that follows the
/// block (u64, little-endian), 24–55 SHA-256 of all that follows, 56–511 zero.
inline constexpr std::size_t seal_size = 512;
inline constexpr std::uint32_t seal_version = 1;

/// Writes a sealed file, built in memory by `fill`, with what `write_file` guarantees. Returns its SHA-256 (of what
/// follows the block) in hexadecimal.
/// Errors: FILE-2; what `fill` throws.
///
///     write_sealed("run/run.h5", [&](hdf5::Group& root) { root.set("format", std::string("assay-run")); });
std::string write_sealed(const std::string& path, const std::function<void(hdf5::Group&)>& fill);

struct SealedFile {
  hdf5::Group root;
  std::string sha256;  ///< of what follows the block, in hexadecimal
};

/// Opens a sealed file after checking every byte of it: block, length and digest. The bytes that were checked are the
/// bytes that are read, whatever happens to the path in between.
///
/// Errors: FILE-6 naming the path, what was expected and what was found; HDF5 has then seen nothing of the file.
SealedFile open_sealed(const std::string& path);

/// Version of the bits that operations give (NUMERICS); written into every file.
inline constexpr std::uint64_t numerics_version = 0;

/// Writes the root attributes `format`, `format_version` and `numerics_version`.
void write_format(hdf5::Group& root, const std::string& format, std::uint64_t version);
/// Opens a sealed file and checks these attributes: the same format and version, no later numerics.
/// Errors: FILE-3, FILE-6.
SealedFile open_format(const std::string& path, const std::string& format, std::uint64_t version);

/// Whether the file begins with the magic of a sealed file. False also for a file that cannot be read.
bool is_sealed(const std::string& path);

}  // namespace assay
