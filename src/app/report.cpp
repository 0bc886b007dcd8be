// assay report: compares each run with the first and hands both to the Python that draws the page.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "compare/verdict.hpp"

namespace assay::app {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<std::string> runs, nulls;
  std::string out, policy = "bitwise", names;
};

/// ASSAY_REPORTS, else the folder that is installed with this program, else that of the source tree.
fs::path reports_folder() {
  std::vector<fs::path> candidates;
  if (const char* folder = std::getenv("ASSAY_REPORTS")) {
    candidates = {folder};
  } else {
    std::error_code ignored;
    candidates = {fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/assay/reports",
                  ASSAY_REPORTS_SOURCE};
  }
  for (const fs::path& folder : candidates)
    if (fs::exists(folder / "report.py")) return folder;
  throw Error("FILE-3", "report",
              "report.py in " + candidates.back().string() + " (ASSAY_REPORTS names another folder)", "none");
}

/// A file in the folder for temporary ones, removed at the end of its life.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    path_ = (fs::temp_directory_path() / "assay-comparisons-XXXXXX").string();
    const int file = ::mkstemp(path_.data());
    const bool written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int error = errno;
    if (file >= 0) ::close(file);
    if (written) return;
    if (file >= 0) ::unlink(path_.c_str());
    throw Error("FILE-2", "write " + path_, "a file that can be written", std::strerror(error));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Runs Python; its exit status, with its standard output into `output` when that is given.
int python(std::vector<std::string> arguments, std::string* output = nullptr) {
  arguments.insert(arguments.begin(), ASSAY_PYTHON);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  int ends[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (output && ::pipe2(ends, O_CLOEXEC) == 0) ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (output) {
    ::close(ends[1]);
    char block[256];
    for (ssize_t size; error == 0 && (size = ::read(ends[0], block, sizeof block)) > 0;)
      output->append(block, static_cast<std::size_t>(size));
    ::close(ends[0]);
  }
  if (error != 0) throw Error("FILE-3", "run " ASSAY_PYTHON, "Python 3 (Debian package python3)", std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void require_modules() {
  constexpr const char* program =
      "import importlib.util as u\n"
      "print(*['python3-' + m for m in ('numpy', 'h5py', 'matplotlib', 'jinja2') if not u.find_spec(m)])";
  std::string missing;
  const int status = python({"-c", program}, &missing);
  while (!missing.empty() && missing.back() == '\n') missing.pop_back();
  if (status != 0 || !missing.empty())
    throw Error("FILE-3", "report", "numpy, h5py, matplotlib and jinja2 for " ASSAY_PYTHON,
                missing.empty() ? "exit status " + std::to_string(status)
                                : "some missing; install them with: apt-get install " + missing);
}

int execute(const ReportArguments& options) {
  const Policy policy = parse_policy(options.policy);
  const fs::path script = reports_folder() / "report.py";
  require_modules();
  const CompareOptions compared{Explain::referee, options.names.empty() ? NameMap{} : read_name_map(options.names),
                                options.nulls};
  std::string comparisons;
  for (std::size_t i = 1; i < options.runs.size(); ++i) {
    const Comparison comparison = compare_runs(options.runs[0], options.runs[i], policy, compared);
    comparisons += (i > 1 ? "," : "") + comparison_json(comparison);
  }
  const TemporaryFile file("[" + comparisons + "]\n");
  std::vector<std::string> arguments = {script.string(), "--out", options.out, "--comparisons", file.path()};
  if (!options.names.empty()) arguments.insert(arguments.end(), {"--map", options.names});
  arguments.push_back("--");
  arguments.insert(arguments.end(), options.runs.begin(), options.runs.end());
  return python(arguments) == 0 ? fine : failed;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App& command =
      *app.add_subcommand("report", "Write a page with curves, verdicts and provenance of one or more runs");
  command.add_option("runs", options->runs, "Folders of runs; each is compared with the first")
      ->required()
      ->type_name("RUN");
  command.add_option("--out", options->out, "Folder for index.html, report.json and figures")
      ->required()
      ->type_name("DIR");
  command.add_option("--policy", options->policy, "What counts as the same (default: bitwise)")
      ->type_name("bitwise|ulp:N|close:RTOL,ATOL");
  command
      .add_option(
          "--null", options->nulls,
          "A run that differs from the first run in model.perturbed or in experiment.seed alone; may be repeated")
      ->type_name("RUN")
      ->allow_extra_args(false);
  command.add_option("--map", options->names, "Names of the other runs, and what the first one calls the same")
      ->type_name("NAMES.toml");
  command.footer("Example: assay report runs/0001 runs/0002 --out report");
  command.callback([options, &action] { action = [options] { return execute(*options); }; });
}

}  // namespace assay::app
