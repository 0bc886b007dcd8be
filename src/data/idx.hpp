// The IDX file format (the files of MNIST and its relatives), plain or gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// Most bytes of elements that `read_idx` takes from one file.
inline constexpr std::int64_t idx_limit = std::int64_t{1} << 30;

/// One array of an IDX file: `elements` row-major, as many as the product of `shape`.
struct IdxArray {
  enum class Type : std::uint8_t { unsigned_byte = 0x08, float32 = 0x0D };

  std::string path;
  std::string sha256;  ///< of the file as it lies on disk, compressed or not
  Type type = Type::unsigned_byte;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;  ///< the elements when `type` is `unsigned_byte`
  std::vector<float> floats;        ///< the elements when `type` is `float32`
};

/// Reads an IDX file of unsigned bytes or float32 with 1 to 8 dimensions; a gzip file is known by its content.
///
/// Guarantee: the size in the header is compared with the size of the file (of a gzip file: with the most that it can
/// hold) and with `idx_limit` before anything is allocated for it. The values are not judged; see `Dataset`.
/// Errors: FILE-6 naming the file, for anything that is not exactly one such array.
/// Source: the format is described at the end of the MNIST page of Y. LeCun, C. Cortes and C. Burges.
///
///     IdxArray images = read_idx("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz");  // {10000, 28, 28}
IdxArray read_idx(const std::string& path);

}  // namespace assay
