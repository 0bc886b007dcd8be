// Printing the tree of a file, here or in a child process with limits.
#include "checkpoint/inspect.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <ostream>
#include <sstream>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "checkpoint/hdf5.hpp"
#include "checkpoint/sealed_file.hpp"

namespace assay {
namespace {

constexpr unsigned processor_seconds = 5, elapsed_seconds = 10;
constexpr rlim_t memory_bytes = rlim_t{1} << 30;
constexpr std::size_t output_bytes = std::size_t{4} << 20;
constexpr std::size_t text_characters = 200;
constexpr int deepest = 64;

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (unsigned char character : text.substr(0, text_characters)) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\x%02x", character);
    if (character == '\n')
      result += "\\n";
    else if (character < 32 || character == 127)
      result += escape;
    else
      result += static_cast<char>(character);
  }
  return result + (text.size() > text_characters ? "…\"" : "\"");
}

std::string attribute_text(const hdf5::Object& object, const std::string& name) {
  char number[40];
  try {
    const hdf5::Value value = object.get(name);
    if (auto* text = std::get_if<std::string>(&value)) return quoted(*text);
    if (auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
    if (auto* real = std::get_if<double>(&value)) {
      std::snprintf(number, sizeof number, "%.17g", *real);
    } else {
      const bool is_digest = name.find("digest") != std::string::npos;
      std::snprintf(number, sizeof number, is_digest ? "0x%016llx" : "%llu",
                    static_cast<unsigned long long>(std::get<std::uint64_t>(value)));
    }
    return number;
  } catch (const Error&) {
    return "(not a single number or text)";
  }
}

class Printer {
 public:
  explicit Printer(std::ostream& out) : out_(out) {}

  void group(const hdf5::Group& group, int depth) {
    for (const std::string& name : group.attributes())
      line(depth, std::string("@").append(quoted_name(name)) + " = " + attribute_text(group, name));
    for (const hdf5::Child& child : group.children()) {
      const std::string name = quoted_name(child.name);
      switch (child.kind) {
        case hdf5::Child::Kind::group:
          line(depth, name + "/" + (depth == deepest ? " …" : ""));
          if (depth < deepest) this->group(group.group(child.name), depth + 1);
          break;
        case hdf5::Child::Kind::dataset:
          line(depth, name + "  " + group.dataset_text(child.name) + dataset_attributes(group.dataset(child.name)));
          break;
        case hdf5::Child::Kind::link:
          line(depth, name + "  (link)");
          break;
        case hdf5::Child::Kind::other:
          line(depth, name + "  (other object)");
      }
    }
  }

 private:
  static std::string quoted_name(const std::string& name) {
    std::string text = quoted(name);
    return text.substr(1, text.size() - 2);
  }

  static std::string dataset_attributes(const hdf5::Object& dataset) {
    std::string text;
    for (const std::string& name : dataset.attributes())
      text += (text.empty() ? "  " : ", ") + quoted_name(name) + " = " + attribute_text(dataset, name);
    return text;
  }

  void line(int depth, const std::string& text) {
    out_ << std::string(2 * static_cast<std::size_t>(depth), ' ') << text << '\n';
    written_ += text.size() + 1 + 2 * static_cast<std::size_t>(depth);
    if (written_ > output_bytes)
      throw Error("FILE-6", "inspect a file", "a description of at most " + std::to_string(output_bytes) + " bytes",
                  "more");
  }

  std::ostream& out_;
  std::size_t written_ = 0;
};

std::string tree(const hdf5::Group& root) {
  std::ostringstream out;
  Printer(out).group(root, 1);
  return out.str();
}

void limit_this_process() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t held = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlimit memory{held + memory_bytes, held + memory_bytes}, processor{processor_seconds, processor_seconds},
      none{0, 0};
  ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CPU, &processor);
  ::setrlimit(RLIMIT_CORE, &none);
  sigset_t alarm_signal;
  sigemptyset(&alarm_signal);
  sigaddset(&alarm_signal, SIGALRM);
  for (int signal : {SIGALRM, SIGXCPU, SIGSEGV, SIGABRT, SIGBUS, SIGPIPE}) std::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &alarm_signal, nullptr);
  ::alarm(elapsed_seconds);
}

/// The child: first byte 0 and the tree, or 1 and the text of an error.
[[noreturn]] void describe_in_child(const std::string& path, int pipe) {
  limit_this_process();
  if (int null = ::open("/dev/null", O_WRONLY); null >= 0) ::dup2(null, STDERR_FILENO);
  std::string answer;
  try {
    answer.push_back('\0');
    answer += tree(hdf5::open_unchecked(path));
  } catch (const std::exception& error) {
    answer.assign(1, '\1');
    answer += error.what();
  }
  for (std::size_t sent = 0; sent < answer.size();) {
    ssize_t count = ::write(pipe, answer.data() + sent, answer.size() - sent);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

std::string foreign_tree(const std::string& path) {
  auto fail = [&](const std::string& found) {
    throw Error("FILE-6", "inspect " + path, "an HDF5 file that can be read within the limits", found);
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) describe_in_child(path, ends[1]);
  const int fork_error = errno;
  ::close(ends[1]);
  std::string answer;
  char block[4096];
  while (child > 0) {
    ssize_t count = ::read(ends[0], block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    answer.append(block, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (child < 0) fail(std::strerror(fork_error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool limit = signal == SIGXCPU || signal == SIGALRM || signal == SIGKILL;
    fail(limit ? "a limit on time met while reading it"
               : std::string("a crash of the HDF5 library (") + strsignal(signal) + ")");
  }
  if (answer.empty()) fail("no answer from the process that reads it");
  if (answer[0] != '\0') fail(answer.substr(1));
  return answer.substr(1);
}

}  // namespace

void describe(const std::string& path, std::ostream& out) {
  if (is_sealed(path)) {
    const SealedFile file = open_sealed(path);
    const std::string text = tree(file.root);
    out << path << ": sealed file, every byte verified, SHA-256 " << file.sha256 << '\n' << text;
  } else {
    const std::string text =
        sabotaged("foreign_files_are_read_here") ? tree(hdf5::open_unchecked(path)) : foreign_tree(path);
    out << path << ": HDF5 file of another program, not sealed\n" << text;
  }
}

}  // namespace assay
