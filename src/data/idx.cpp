// Reading of IDX files: the header is judged against the size of the file before memory is taken for the elements.
#include "data/idx.hpp"

#include <zlib.h>

#include <bit>
#include <cstring>
#include <span>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sabotage.hpp"
#include "base/sha256.hpp"

namespace assay {
namespace {

// RFC 1951 cannot express more than this many bytes in one compressed byte.
constexpr std::int64_t largest_deflate_ratio = 1032;

[[noreturn]] void fail_idx(const std::string& path, std::string expected, std::string found) {
  throw Error("FILE-6", "IDX file " + path, std::move(expected), std::move(found));
}

/// The contents of a file, inflated when it is gzip, taken piece by piece.
class Contents {
 public:
  Contents(const std::string& path, std::span<const std::byte> file) : path_(path), file_(file) {
    gzip_ = file.size() >= 2 && file[0] == std::byte{0x1F} && file[1] == std::byte{0x8B};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file.data()));
    stream_.avail_in = static_cast<uInt>(file.size());
    if (gzip_ && inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) fail_idx(path, "memory for inflating", "none");
  }
  ~Contents() {
    if (gzip_) inflateEnd(&stream_);
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Fills `into` with what follows.
  void read(std::span<std::uint8_t> into, const std::string& what) {
    const std::size_t got = take(into);
    if (got < into.size())
      fail_idx(path_, std::to_string(into.size()) + " bytes of " + what, std::to_string(got) + " bytes before the end");
  }

  /// Refuses an array of `size` bytes that cannot be what follows.
  void expect_room_for(std::int64_t size) const {
    const std::int64_t left = static_cast<std::int64_t>(stream_.avail_in);
    if (!gzip_ && left != size)
      fail_idx(path_, std::to_string(size) + " bytes of elements after the header", std::to_string(left) + " bytes");
    // A window's worth of slack: the inflater may have taken bytes in that it has not given out.
    if (gzip_ && size > largest_deflate_ratio * static_cast<std::int64_t>(file_.size()))
      fail_idx(path_, std::to_string(size) + " bytes of elements after the header",
               "a gzip file of " + std::to_string(file_.size()) + " bytes, which cannot hold as many");
  }

  void expect_end() {
    std::uint8_t extra;
    if (take({&extra, 1}) == 1 || stream_.avail_in != 0)
      fail_idx(path_, "the end of the file after the elements", "more bytes");
    if (gzip_ && !ended_) fail_idx(path_, "a complete gzip file", "one without its end");
  }

 private:
  std::size_t take(std::span<std::uint8_t> into) {
    stream_.next_out = into.data();
    stream_.avail_out = static_cast<uInt>(into.size());
    if (!gzip_) {
      const uInt size = std::min(stream_.avail_in, stream_.avail_out);
      if (size > 0) std::memcpy(into.data(), stream_.next_in, size);  // without elements there may be no address
      stream_.next_in += size;
      stream_.avail_in -= size;
      return size;
    }
    while (stream_.avail_out > 0 && !ended_) {
      const int result = inflate(&stream_, Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      if (result == Z_BUF_ERROR) break;  // no input left
      if (result != Z_OK && !ended_) fail_idx(path_, "a sound gzip file", stream_.msg ? stream_.msg : "a damaged one");
    }
    return into.size() - stream_.avail_out;
  }

  const std::string& path_;
  std::span<const std::byte> file_;
  z_stream stream_{};
  bool gzip_ = false;
  bool ended_ = false;  ///< of the gzip stream, its checksum included
};

std::string hexadecimal(std::uint8_t byte) { return "0x" + to_hex(std::as_bytes(std::span(&byte, 1))); }

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

IdxArray read_idx(const std::string& path) {
  const std::vector<std::byte> file = read_file("IDX file " + path, path, idx_limit + 4096);
  Contents contents(path, file);
  IdxArray array;
  array.path = path;

  std::uint8_t magic[4];
  contents.read(magic, "magic number");
  if (magic[0] != 0 || magic[1] != 0)
    fail_idx(path, "a magic number that begins with two zero bytes",
             hexadecimal(magic[0]) + " " + hexadecimal(magic[1]));
  if (magic[2] != 0x08 && magic[2] != 0x0D) {
    const char* name = magic[2] == 0x09   ? " (signed byte)"
                       : magic[2] == 0x0B ? " (int16)"
                       : magic[2] == 0x0C ? " (int32)"
                       : magic[2] == 0x0E ? " (float64)"
                                          : " (not a type of IDX)";
    fail_idx(path, "elements of type 0x08 (unsigned byte) or 0x0d (float32)", hexadecimal(magic[2]) + name);
  }
  array.type = static_cast<IdxArray::Type>(magic[2]);
  if (magic[3] < 1 || magic[3] > 8) fail_idx(path, "1 to 8 dimensions", std::to_string(magic[3]));

  const std::int64_t width = array.type == IdxArray::Type::float32 ? 4 : 1;
  std::int64_t size = width;  // in bytes
  for (int i = 0; i < magic[3]; ++i) {
    std::uint8_t bytes[4];
    contents.read(bytes, "dimension " + std::to_string(i));
    const std::int64_t extent = std::bit_cast<std::int32_t>(big_endian(bytes));
    if (extent < 0) fail_idx(path, "dimension " + std::to_string(i) + " not to be negative", std::to_string(extent));
    array.shape.push_back(extent);
    if (extent != 0 && size > idx_limit / extent)
      fail_idx(path, "at most " + std::to_string(idx_limit) + " bytes of elements",
               "more, from dimension " + std::to_string(i) + " = " + std::to_string(extent));
    size *= extent;
  }
  if (!sabotaged("idx_headers_are_believed")) contents.expect_room_for(size);

  array.bytes.resize(static_cast<std::size_t>(size));
  contents.read(array.bytes, "elements");
  contents.expect_end();
  if (array.type == IdxArray::Type::float32) {
    array.floats.resize(static_cast<std::size_t>(size / 4));
    for (std::size_t i = 0; i < array.floats.size(); ++i)
      array.floats[i] = std::bit_cast<float>(big_endian(&array.bytes[4 * i]));
    array.bytes = {};
  }
  Sha256 hash;
  hash.update(file);
  array.sha256 = to_hex(hash.finish());
  return array;
}

}  // namespace assay
