// Writing and checking sealed files.
#include "checkpoint/sealed_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "base/sha256.hpp"

namespace assay {
namespace {

constexpr char magic[9] = "ASSAYH5\n";
constexpr const char* partial_suffix = ".partial";

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

[[noreturn]] void fail_write(const std::string& path, const char* expected) {
  throw Error("FILE-2", "write " + path, expected, std::strerror(errno));
}

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_write(path, "room for the file");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

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

void read_file(const std::string& path, std::vector<std::byte>& bytes) {
  auto fail = [&](const std::string& found) { throw Error("FILE-6", "open " + path, "a readable file", found); };
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("no regular file");
  bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    ssize_t count = ::read(file.number(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(std::strerror(errno));
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
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

void sync_folder(const std::string& folder) {
  Descriptor directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || ::fsync(directory.number()) != 0) fail_write(folder, "a folder that can be synced");
}

std::string write_sealed(const std::string& path, const std::function<void(hdf5::Group&)>& fill) {
  hdf5::MemoryFile memory(path, seal_size);
  fill(memory.root());
  const std::vector<std::byte> content = memory.close();
  Sha256 hash;
  hash.update(content);
  const Sha256::Digest digest = hash.finish();

  std::signal(SIGXFSZ, SIG_IGN);
  const std::string partial = sabotaged("files_are_written_in_place") ? path : path + partial_suffix;
  Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.number() < 0) fail_write(path, "a folder where files can be created");
  try {
    write_all(file.number(), seal_block(content, digest), path);
    write_all(file.number(), content, path);
    if (::fsync(file.number()) != 0 || file.close() != 0) fail_write(path, "a file that can be synced");
    if (::rename(partial.c_str(), path.c_str()) != 0) fail_write(path, "a name that can be replaced");
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
  sync_folder(std::filesystem::path(path).parent_path());
  return to_hex(digest);
}

SealedBytes read_sealed(const std::string& path, hdf5::SharedBytes memory) {
  if (!memory) memory = std::make_shared<std::vector<std::byte>>();
  read_file(path, *memory);
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
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char bytes[8] = {};
  return file.number() >= 0 && ::read(file.number(), bytes, 8) == 8 && std::memcmp(bytes, magic, 8) == 0;
}

void remove_partial_files(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == partial_suffix) std::filesystem::remove(entry.path(), ignored);
}

}  // namespace assay
