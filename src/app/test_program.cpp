// Running the test program and reading its list, its verdicts and its log.
#include "app/test_program.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "app/program.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay::app {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "XFER_2_a_failed_…" as an id and a sentence; an empty id when a name is not of that form.
std::pair<std::string, std::string> id_and_promise(const std::string& name) {
  const std::size_t group = name.find('_');
  if (group == std::string::npos || group == 0) return {};
  for (std::size_t i = 0; i < group; ++i)
    if (!std::isupper(static_cast<unsigned char>(name[i])) && !std::isdigit(static_cast<unsigned char>(name[i])))
      return {};
  std::size_t end = group + 1;
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
  if (end == group + 1 || end == name.size() || name[end] != '_') return {};
  std::string promise = name.substr(end + 1);
  std::replace(promise.begin(), promise.end(), '_', ' ');
  return {name.substr(0, group) + "-" + name.substr(group + 1, end - group - 1), promise};
}

std::string words_for(const Ending& ending) {
  if (ending.timed_out) return "took too long";
  return ending.signal ? std::string("was ended by: ") + strsignal(ending.signal)
                       : "ended with status " + std::to_string(ending.status);
}

/// What the log of the program says about a failed case: `FILE(LINE): error: in "PATH": …`.
std::string message_of(const std::string& path, const std::string& log) {
  const std::size_t at = log.find("in \"" + path + "\": ");
  if (at == std::string::npos) return "";
  const std::size_t begin = log.rfind('\n', at) + 1;
  return log.substr(begin, log.find('\n', at) - begin);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "assay-contracts-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw Error("FILE-2", "make " + pattern, "a folder", std::strerror(errno));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string test_program(bool sabotage) {
  const std::string name = sabotage ? "assay_contracts_sabotage" : "assay_contracts";
  const fs::path here = folder_of_this_program();
  for (const fs::path& folder : {here, here / "../../tests"})
    if (fs::exists(folder / name)) return fs::canonical(folder / name).string();
  throw Error("RUN-6", "contracts", "the test program " + name + " beside " + (here / "assay").string(),
              sabotage ? "none; configure with -Dtests=true -Dsabotage=true and build it"
                       : "none; configure with -Dtests=true and build it");
}

std::vector<Case> all_cases(const std::string& program, const TemporaryFolder& folder) {
  const std::string log = folder.file("list");
  run_program({program, "--list_content=HRF", "--color_output=no"}, {}, log, 60);
  std::vector<Case> cases;
  std::vector<std::string> suites;
  std::istringstream lines(text_of(log));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos || line.back() != '*') continue;
    const std::string name = line.substr(indent, line.find('*') - indent);
    suites.resize(indent / 4);
    const auto [id, promise] = id_and_promise(name);
    if (id.empty()) {
      suites.push_back(name);
      continue;
    }
    std::string path;
    for (const std::string& suite : suites) path += suite + "/";
    const bool on_device = !suites.empty() && (suites[0] == "cpu" || suites[0] == "simulated" || suites[0] == "cuda");
    cases.push_back({path + name, id, on_device ? suites[0] : "any", promise});
  }
  if (cases.empty())
    throw Error("RUN-6", "contracts", "a list of test cases from " + program, "none: " + text_of(log).substr(0, 200));
  return cases;
}

std::map<std::string, Verdict> run_cases(const std::string& program, std::vector<Case> left,
                                         const TemporaryFolder& folder, const std::string& name,
                                         const RunOptions& options) {
  std::map<std::string, Verdict> results;
  while (!left.empty()) {
    std::vector<std::string> arguments{program, "--color_output=no", "--report_level=no"};
    for (const Case& entry : left) arguments.push_back("--run_test=" + entry.path);
    arguments.insert(arguments.end(), {"--", "--verdicts", folder.file("verdicts" + name)});
    if (options.until_failure) arguments.push_back("--until-failure");
    const Ending ending =
        run_program(arguments, {"ASSAY_SABOTEUR=" + options.saboteur}, folder.file("log" + name), options.seconds);
    const std::string log = text_of(folder.file("log" + name));

    std::istringstream lines(text_of(folder.file("verdicts" + name)));
    std::string verdict, path;
    while (lines >> verdict >> path) {
      Verdict& result = results[path];
      result =
          verdict == "start" ? Verdict{"fail", 0, "here the program " + words_for(ending)} : Verdict{verdict, 0, ""};
      if (verdict != "start") lines >> result.seconds;
      if (verdict == "fail") result.message = message_of(path, log);
    }
    const std::size_t gone = std::erase_if(left, [&](const Case& entry) { return results.count(entry.path) > 0; });
    if (options.until_failure) break;
    if (gone == 0)
      for (const Case& entry : std::exchange(left, {}))
        results[entry.path] = {sabotaged("what_did_not_run_has_passed") ? "pass" : "fail", 0,
                               "not run: the program " + words_for(ending)};
  }
  return results;
}

}  // namespace assay::app
