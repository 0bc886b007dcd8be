// Reading and replacing of whole files.
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay {
namespace {

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

}  // namespace

std::vector<std::byte> read_file(const std::string& what, const std::string& path, std::uint64_t limit,
                                 std::vector<std::byte> memory) {
  auto fail = [&](const std::string& found) { throw Error("FILE-6", what, "a readable file", found); };
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("no regular file");
  if (static_cast<std::uint64_t>(status.st_size) > limit)
    throw Error("FILE-6", what, "at most " + std::to_string(limit) + " bytes",
                std::to_string(status.st_size) + " bytes");
  std::vector<std::byte> bytes = std::move(memory);
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
  return bytes;
}

void write_file(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string partial = sabotaged("files_are_written_in_place") ? path : path + partial_suffix;
  Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.number() < 0) fail_write(path, "a folder where files can be created");
  try {
    for (std::span<const std::byte> piece : pieces) write_all(file.number(), piece, path);
    if (::fsync(file.number()) != 0 || file.close() != 0) fail_write(path, "a file that can be synced");
    if (::rename(partial.c_str(), path.c_str()) != 0) fail_write(path, "a name that can be replaced");
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
  sync_folder(std::filesystem::path(path).parent_path());
}

void remove_partial_files(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == partial_suffix) std::filesystem::remove(entry.path(), ignored);
}

void sync_folder(const std::string& folder) {
  Descriptor directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || ::fsync(directory.number()) != 0) fail_write(folder, "a folder that can be synced");
}

}  // namespace assay
