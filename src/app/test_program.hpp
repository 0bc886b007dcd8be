// The program of the contract tests: where it is, which cases it has, and what became of those that it ran.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay::app {

/// A test case that is named by a contract: its path in the program, and what the path says.
struct Case {
  std::string path, id, device, promise;
};

/// What became of a case: "pass", "fail" or "skip", and the first failure.
struct Verdict {
  std::string verdict;
  double seconds = 0;
  std::string message;
};

/// A folder for what the programs write, removed at the end.
class TemporaryFolder {
 public:
  /// Errors: FILE-2 when there can be none.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Installed beside this program, else where the build leaves it. Errors: RUN-6 saying what to build.
std::string test_program(bool sabotage);

/// The cases of the program that a contract names. Errors: RUN-6 when it lists none.
std::vector<Case> all_cases(const std::string& program, const TemporaryFolder& folder);

struct RunOptions {
  std::string saboteur = "";   ///< who is at work; nobody by default
  int seconds = 1800;          ///< the longest that the program may take
  bool until_failure = false;  ///< ends with the first case that fails
};

/// Runs the cases; gives the verdict of each by path. A case in which the program dies or hangs has failed, and those
/// behind it are run once more without it (not with `until_failure`). `name` is that of the files in `folder`.
std::map<std::string, Verdict> run_cases(const std::string& program, std::vector<Case> cases,
                                         const TemporaryFolder& folder, const std::string& name,
                                         const RunOptions& options);

}  // namespace assay::app
