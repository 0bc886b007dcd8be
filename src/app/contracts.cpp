// assay contracts: runs the test program that stands beside this one and says which promises hold.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "app/commands.hpp"
#include "app/json_output.hpp"
#include "app/program.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay::app {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> ids;
  std::string device, junit_file;
  JsonOutput json;
  bool list = false, sabotage = false;
};

/// A test case that is named by a contract: its path in the program, and what the path says.
struct Case {
  std::string path, id, device, promise;
};

/// A row of the table: all cases of an id on a device.
struct Row {
  std::string id, device, promise, verdict = "skip";
  double seconds = 0;
  std::vector<std::string> failed;  // paths of cases
};

/// A folder for what the programs write, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "assay-contracts-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw Error("FILE-2", "make " + pattern, "a folder", std::strerror(errno));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Installed beside this program, else where the build leaves it. Errors: RUN-6 saying what to build.
std::string test_program(bool sabotage) {
  const std::string name = sabotage ? "assay_contracts_sabotage" : "assay_contracts";
  const fs::path here = folder_of_this_program();
  for (const fs::path& folder : {here, here / "../../tests"})
    if (fs::exists(folder / name)) return fs::canonical(folder / name).string();
  throw Error("RUN-6", "contracts", "the test program " + name + " beside " + (here / "assay").string(),
              sabotage ? "none; configure with -Dtests=true -Dsabotage=true and build it"
                       : "none; configure with -Dtests=true and build it");
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

/// Groups in the order of their names, rows by number.
bool before(const std::string& a, const std::string& b) {
  auto key = [](const std::string& id) {
    const std::size_t dash = id.find('-');
    return std::pair(id.substr(0, dash), std::stoi(id.substr(dash + 1)));
  };
  return key(a) < key(b);
}

/// The cases of the program, from its indented list: suites, and below them cases, each with a '*' behind.
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

bool wanted(const Case& entry, const std::vector<std::string>& ids) {
  return ids.empty() || std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
           return entry.id == id || entry.id.substr(0, entry.id.find('-')) == id;
         });
}

std::vector<Case> selected(const std::vector<Case>& cases, const Options& options) {
  for (const std::string& id : options.ids)
    if (std::none_of(cases.begin(), cases.end(), [&](const Case& entry) { return wanted(entry, {id}); }))
      throw Error("RUN-6", "contracts", "an id such as XFER-2, or a group such as XFER", "\"" + id + "\"");
  std::vector<Case> chosen;
  for (const Case& entry : cases)
    if (wanted(entry, options.ids) && (options.device.empty() || entry.device == options.device))
      chosen.push_back(entry);
  if (chosen.empty())
    throw Error("RUN-6", "contracts", "a device that the suite runs on", "--device " + options.device);
  std::stable_sort(chosen.begin(), chosen.end(), [](const Case& a, const Case& b) { return before(a.id, b.id); });
  return chosen;
}

struct Verdict {
  std::string verdict;
  double seconds = 0;
};

/// Runs the cases; gives the verdict of each by path. One that was running when the program died has "fail".
std::map<std::string, Verdict> run_cases(const std::string& program, const std::vector<Case>& cases,
                                         const std::vector<std::string>& settings, const std::string& verdicts,
                                         const std::string& log, const std::string& junit, int seconds) {
  std::vector<std::string> arguments{program, "--color_output=no", "--report_level=no"};
  if (!junit.empty()) arguments.push_back("--logger=HRF,error,stdout:JUNIT,message," + junit);
  for (const Case& entry : cases) arguments.push_back("--run_test=" + entry.path);
  arguments.insert(arguments.end(), {"--", "--verdicts", verdicts});
  run_program(arguments, settings, log, seconds);

  std::map<std::string, Verdict> results;
  std::istringstream lines(text_of(verdicts));
  std::string verdict, path;
  while (lines >> verdict >> path) {
    Verdict& result = results[path];
    result.verdict = verdict == "start" ? "fail" : verdict;
    if (verdict != "start") lines >> result.seconds;
  }
  return results;
}

std::vector<Row> rows_of(const std::vector<Case>& cases, const std::map<std::string, Verdict>& verdicts) {
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Case& entry : cases) {
    const auto [place, is_new] = places.try_emplace({entry.id, entry.device}, rows.size());
    if (is_new) rows.push_back({entry.id, entry.device, entry.promise, "skip", 0, {}});
    Row& row = rows[place->second];
    const auto found = verdicts.find(entry.path);
    const Verdict verdict = found == verdicts.end() ? Verdict{"fail", 0} : found->second;
    row.seconds += verdict.seconds;
    if (verdict.verdict == "fail") {
      row.verdict = "fail";
      row.failed.push_back(entry.path);
    } else if (verdict.verdict == "pass" && row.verdict == "skip") {
      row.verdict = "pass";
    }
  }
  return rows;
}

void print_table(const std::vector<Row>& rows, const std::string& log) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.id.size());
  for (const Row& row : rows)
    std::cout << std::left << std::setw(static_cast<int>(width) + 2) << row.id << std::setw(11) << row.device
              << std::setw(6) << row.verdict << std::right << std::fixed << std::setprecision(3) << std::setw(8)
              << row.seconds << " s  " << row.promise << '\n';
  const auto failed = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.verdict == "fail"; });
  if (failed > 0) std::cout << '\n' << log;
  for (const Row& row : rows)
    for (const std::string& path : row.failed) std::cout << "fails: --run_test=" << path << '\n';
  std::cout << rows.size() << " rows, " << failed << " failed\n";
}

int list(const std::vector<Case>& cases) {
  std::map<std::string, std::pair<std::string, std::string>> ids;  // id → devices, promise of its first case
  std::vector<std::string> order;
  for (const Case& entry : cases) {
    auto [found, is_new] = ids.try_emplace(entry.id, "", entry.promise);
    if (is_new) order.push_back(entry.id);
    std::string& devices = found->second.first;
    if (devices.find(entry.device) == std::string::npos) devices += (devices.empty() ? "" : ",") + entry.device;
  }
  for (const std::string& id : order)
    std::cout << std::left << std::setw(10) << id << std::setw(18) << ids[id].first << ids[id].second << '\n';
  return fine;
}

int check(const Options& options) {
  const TemporaryFolder folder;
  const std::string program = test_program(false);
  const std::vector<Case> cases = selected(all_cases(program, folder), options);
  if (options.list) return list(cases);
  const auto verdicts =
      run_cases(program, cases, {}, folder.file("verdicts"), folder.file("log"), options.junit_file, 1800);
  const std::vector<Row> rows = rows_of(cases, verdicts);
  if (options.json.wanted()) {
    nlohmann::ordered_json json;
    for (const Row& row : rows)
      json["contracts"].push_back({{"id", row.id},
                                   {"device", row.device},
                                   {"verdict", row.verdict},
                                   {"seconds", row.seconds},
                                   {"promise", row.promise},
                                   {"failed", row.failed}});
    options.json.write(json.dump(1));
  }
  if (!options.json.alone()) print_table(rows, text_of(folder.file("log")));
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.verdict == "pass"; }) ? fine
                                                                                                     : does_not_hold;
}

std::set<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

/// What one saboteur did to the ids that it names.
struct Sabotage {
  std::set<std::string> red, green;
};

int sabotage(const Options& options) {
  const TemporaryFolder folder;
  const std::string program = test_program(true);
  const std::vector<Case> cases = selected(all_cases(program, folder), options);
  std::vector<Sabotage> outcomes(std::size(saboteurs));
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i; (i = next++) < std::size(saboteurs);) {
      const std::set<std::string> ids = words(saboteurs[i].ids);
      std::vector<Case> targets;
      for (const Case& entry : cases)
        if (ids.count(entry.id)) targets.push_back(entry);
      if (targets.empty()) continue;
      const std::string number = std::to_string(i);
      const auto verdicts = run_cases(program, targets, {"ASSAY_SABOTEUR=" + std::string(saboteurs[i].name)},
                                      folder.file("verdicts" + number), folder.file("log" + number), "", 60);
      for (const auto& [path, verdict] : verdicts)
        if (verdict.verdict == "fail")
          for (const Case& entry : targets)
            if (entry.path == path) outcomes[i].red.insert(entry.id);
      for (const Case& entry : targets)
        if (!outcomes[i].red.count(entry.id)) outcomes[i].green.insert(entry.id);
    }
  };
  std::thread other(work);
  work();
  other.join();

  std::set<std::string> unproven;
  bool all_red = true;
  for (const Case& entry : cases) unproven.insert(entry.id);
  nlohmann::ordered_json json{{"saboteurs", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Sabotage& outcome = outcomes[i];
    if (outcome.red.empty() && outcome.green.empty()) continue;
    for (const std::string& id : outcome.red) unproven.erase(id);
    json["saboteurs"].push_back(
        {{"name", saboteurs[i].name}, {"breaks", saboteurs[i].breaks}, {"red", outcome.red}, {"green", outcome.green}});
    if (!options.json.alone()) {
      std::cout << std::left << std::setw(34) << saboteurs[i].name << "red:";
      for (const std::string& id : outcome.red) std::cout << ' ' << id;
      if (!outcome.green.empty()) std::cout << "   STILL GREEN:";
      for (const std::string& id : outcome.green) std::cout << ' ' << id;
      std::cout << '\n';
    }
    all_red = all_red && outcome.green.empty();
  }
  std::vector<std::string> left(unproven.begin(), unproven.end());
  std::sort(left.begin(), left.end(), before);
  json["unproven"] = left;
  options.json.write(json.dump(1));
  if (!options.json.alone()) {
    std::cout << "unproven:";
    for (const std::string& id : left) std::cout << ' ' << id;
    std::cout << (left.empty() ? " none\n" : "\n");
  }
  return left.empty() && all_red ? fine : does_not_hold;
}

}  // namespace

void add_contracts(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("contracts", "Test the promises, and that their tests can fail");
  command.add_option("ids", options->ids, "Only these: rows (XFER-2) or groups (XFER)")->type_name("ID");
  command.add_option("--device", options->device, "Only this device: cpu, simulated, or any for rows without one");
  command.add_flag("--list", options->list, "Print ids, devices and promises, and run nothing");
  command.add_flag("--sabotage", options->sabotage,
                   "Break each promise on purpose in a second test program; lists every id that nothing turns red");
  options->json.add_to(command, "the table");
  command.add_option("--junit", options->junit_file, "Write the cases as JUnit XML")->type_name("FILE");
  command.footer(
      "Exit status: 0 all hold, 1 some do not, 2 no test program or another usage error.\n"
      "Examples: assay contracts XFER RES --device simulated\n"
      "          assay contracts --sabotage ACC");
  command.callback(
      [options, &action] { action = [options] { return options->sabotage ? sabotage(*options) : check(*options); }; });
}

}  // namespace assay::app
