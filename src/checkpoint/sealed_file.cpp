// Writing and checking sealed files.
#include "checkpoint/sealed_file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sabotage.hpp"
#include "base/sha256.hpp"

namespace assay {
namespace {

constexpr char magic[9] = "ASSAYH5\n";

std::vector<std::byte> seal_block(std::span<const std::byte> content, const Sha256::Digest& digest) {
  std::vector<std::byte> block(seal_size);
  auto put = [&](std::size_t at, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) block[at + i] = static_cast<std::byte>(value >> (8 * i));
  };
  std::memcpy(block.data(), magic, 8);
  put(8, seal_version, 4);
  put(16, content.size(), 8);
  std::copy(digest.begin(), digest.end(), block.begin() + 24);
  return block;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// The digest in hexadecimal, once every byte of the file agrees with its block.
std::string check_seal(std::span<const std::byte> bytes, const std::string& path) {
  auto fail = [&](const std::string& expected, const std::string& found) {
    throw Error("FILE-6", "open " + path, expected, found);
  };
  if (bytes.size() < seal_size)
    fail("a file of at least " + std::to_string(seal_size) + " bytes", std::to_string(bytes.size()) + " bytes");
  auto block = bytes.first(seal_size), content = bytes.subspan(seal_size);
  if (std::memcmp(block.data(), magic, 8) != 0)
    fail("the first bytes \"ASSAYH5\\n\" of a sealed file", "0x" + to_hex(block.first(8)));
  if (std::uint64_t version = little_endian(block.subspan(8, 4)); version != seal_version)
    fail("version " + std::to_string(seal_version) + " of the first block", std::to_string(version));
  if (std::uint64_t length = little_endian(block.subspan(16, 8)); length != content.size())
    fail(std::to_string(length) + " bytes after the first block", std::to_string(content.size()));
  auto zero = [](std::byte byte) { return byte == std::byte{0}; };
  auto unused = block.subspan(56);
  if (!std::all_of(block.begin() + 12, block.begin() + 16, zero) || !std::all_of(unused.begin(), unused.end(), zero))
    fail("zero in the unused bytes of the first block", "other values");
  Sha256 hash;
  hash.update(content);
  const std::string expected = to_hex(block.subspan(24, 32)), found = to_hex(hash.finish());
  if (expected != found && !sabotaged("damage_is_not_looked_for")) fail("SHA-256 " + expected, found);
  return found;
}

}  // namespace

std::string write_sealed(const std::string& path, const std::function<void(hdf5::Group&)>& fill) {
  hdf5::MemoryFile memory(path, seal_size);
  fill(memory.root());
  const std::vector<std::byte> content = memory.close();
  Sha256 hash;
  hash.update(content);
  const Sha256::Digest digest = hash.finish();

  const std::vector<std::byte> block = seal_block(content, digest);
  const std::span<const std::byte> pieces[] = {block, content};
  write_file(path, pieces);
  return to_hex(digest);
}

SealedBytes read_sealed(const std::string& path, hdf5::SharedBytes memory) {
  if (!memory) memory = std::make_shared<std::vector<std::byte>>();
  *memory = read_file("open " + path, path, std::numeric_limits<std::uint64_t>::max(), std::move(*memory));
  std::string sha256 = check_seal(*memory, path);
  return {path, std::move(memory), std::move(sha256)};
}

SealedFilesInTurn::SealedFilesInTurn(std::vector<std::string> paths) : paths_(std::move(paths)) { read_ahead(); }

void SealedFilesInTurn::read_ahead() {
  if (begun_ == paths_.size()) return;
  hdf5::SharedBytes& memory = memory_[begun_ % 2];
  if (memory.use_count() != 1) memory = std::make_shared<std::vector<std::byte>>();
  ahead_ = std::async(std::launch::async, read_sealed, paths_[begun_++], memory);
}

SealedBytes SealedFilesInTurn::next() {
  SealedBytes file = ahead_.get();
  read_ahead();
  return file;
}

SealedFile open_sealed(const SealedBytes& file) { return {hdf5::open_bytes(file.path, file.bytes), file.sha256}; }
SealedFile open_sealed(const std::string& path) { return open_sealed(read_sealed(path)); }

void write_format(hdf5::Group& root, const std::string& format, std::uint64_t version) {
  root.set("format", format);
  root.set("format_version", version);
  root.set("numerics_version", numerics_version);
}

SealedFile open_format(const SealedBytes& bytes, const std::string& format, std::uint64_t version) {
  const std::string& path = bytes.path;
  SealedFile file = open_sealed(bytes);
  if (std::string found = file.root.get_string("format"); found != format)
    throw Error("FILE-3", "open " + path, "format " + format, found);
  if (std::uint64_t found = file.root.get_count("format_version");
      found != version || sabotaged("format_1_is_forgotten"))
    throw Error("FILE-3", "open " + path, "format_version " + std::to_string(version), std::to_string(found));
  if (std::uint64_t found = file.root.get_count("numerics_version"); found > numerics_version)
    throw Error("FILE-3", "open " + path, "numerics_version of at most " + std::to_string(numerics_version),
                std::to_string(found));
  return file;
}

SealedFile open_format(const std::string& path, const std::string& format, std::uint64_t version) {
  return open_format(read_sealed(path), format, version);
}

bool is_sealed(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe would keep its reader waiting
  std::ifstream file(path, std::ios::binary);
  char bytes[8] = {};
  return file.read(bytes, 8) && std::memcmp(bytes, magic, 8) == 0;
}

}  // namespace assay
