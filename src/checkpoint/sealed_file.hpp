// Sealed files: HDF5 behind a 512-byte block that names length and SHA-256, replaced as a whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <vector>

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

/// A file of which every byte was checked.
struct SealedBytes {
  std::string path;
  hdf5::SharedBytes bytes;
  std::string sha256;  ///< of what follows the block, in hexadecimal
};

/// Reads a sealed file and checks every byte of it: block, length and digest. HDF5 sees nothing of it, so threads can
/// do this side by side. `memory`, when it is given, is what the bytes are read into.
///
/// Errors: FILE-6 naming the path, what was expected and what was found.
SealedBytes read_sealed(const std::string& path, hdf5::SharedBytes memory = nullptr);

/// The sealed files of a list one after the other, each read and checked in a thread while the one before it is used.
/// Their memory is used again once nothing of a file is open any more.
///
///     SealedFilesInTurn files({"run/steps-000001.h5", "run/steps-000002.h5"});
///     SealedFile first = open_sealed(files.next());
class SealedFilesInTurn {
 public:
  explicit SealedFilesInTurn(std::vector<std::string> paths);
  /// There must be one. Errors: FILE-6, of this file.
  SealedBytes next();

 private:
  void read_ahead();

  std::vector<std::string> paths_;
  std::size_t begun_ = 0;
  hdf5::SharedBytes memory_[2];  // in turn
  std::future<SealedBytes> ahead_;
};

struct SealedFile {
  hdf5::Group root;
  std::string sha256;  ///< of what follows the block, in hexadecimal
};

/// Opens a sealed file; with a path, after `read_sealed`. The bytes that were checked are the bytes that are read,
/// whatever happens to the path in between.
SealedFile open_sealed(const SealedBytes& file);
SealedFile open_sealed(const std::string& path);

/// Version of the bits that operations give (NUMERICS); written into every file.
inline constexpr std::uint64_t numerics_version = 0;

/// Writes the root attributes `format`, `format_version` and `numerics_version`.
void write_format(hdf5::Group& root, const std::string& format, std::uint64_t version);
/// Opens a sealed file and checks these attributes: the same format and version, no later numerics.
/// Errors: FILE-3, and with a path FILE-6.
SealedFile open_format(const SealedBytes& file, const std::string& format, std::uint64_t version);
SealedFile open_format(const std::string& path, const std::string& format, std::uint64_t version);

/// Whether the file begins with the magic of a sealed file. False also for a file that cannot be read.
bool is_sealed(const std::string& path);

}  // namespace assay
