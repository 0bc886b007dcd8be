// assay contracts: runs the test program that stands beside this one and says which promises hold.
#include <algorithm>
#include <atomic>
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
#include "app/test_program.hpp"
#include "base/error.hpp"
#include "base/saboteurs.hpp"

namespace assay::app {
namespace {

struct ContractsArguments {
  std::vector<std::string> ids;
  std::string device, junit_file;
  JsonOutput json;
  bool list = false, sabotage = false;
};

/// A row of the table: all cases of an id on a device.
struct Row {
  std::string id, device, promise, verdict = "skip";
  double seconds = 0;
  std::vector<std::string> failed;  // paths of cases
};

/// Groups in the order of their names, rows by number.
bool before(const std::string& a, const std::string& b) {
  auto key = [](const std::string& id) {
    const std::size_t dash = id.find('-');
    return std::pair(id.substr(0, dash), std::stoi(id.substr(dash + 1)));
  };
  return key(a) < key(b);
}

bool wanted(const Case& entry, const std::vector<std::string>& ids) {
  return ids.empty() || std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
           return entry.id == id || entry.id.substr(0, entry.id.find('-')) == id;
         });
}

std::vector<Case> selected(const std::vector<Case>& cases, const ContractsArguments& options) {
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

std::vector<Row> rows_of(const std::vector<Case>& cases, const std::map<std::string, Verdict>& verdicts) {
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Case& entry : cases) {
    const auto [place, is_new] = places.try_emplace({entry.id, entry.device}, rows.size());
    if (is_new) rows.push_back({entry.id, entry.device, entry.promise, "skip", 0, {}});
    Row& row = rows[place->second];
    const Verdict& verdict = verdicts.at(entry.path);
    row.seconds += verdict.seconds;
    if (verdict.verdict == "fail") row.failed.push_back(entry.path);
    if (verdict.verdict == "fail" || row.verdict == "skip") row.verdict = verdict.verdict;
  }
  return rows;
}

void print_table(const std::vector<Row>& rows, const std::map<std::string, Verdict>& verdicts) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.id.size());
  for (const Row& row : rows)
    std::cout << std::left << std::setw(static_cast<int>(width) + 2) << row.id << std::setw(11) << row.device
              << std::setw(6) << row.verdict << std::right << std::fixed << std::setprecision(3) << std::setw(8)
              << row.seconds << " s  " << row.promise << '\n';
  const auto failed = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.verdict == "fail"; });
  for (const Row& row : rows)
    for (const std::string& path : row.failed)
      std::cout << "\nfails: --run_test=" << path << "\n  " << verdicts.at(path).message << '\n';
  std::cout << rows.size() << " rows, " << failed << " failed\n";
}

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);  // a log may hold any bytes
}

std::string for_xml(const std::string& text) {
  std::string safe;
  for (const char c : text)
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return safe;
}

/// One <testcase>; a case that was skipped or failed says why.
std::string junit_case(const std::string& group, const std::string& name, const Verdict& verdict) {
  std::string text =
      "  <testcase classname=\"" + group + "\" name=\"" + name + "\" time=\"" + std::to_string(verdict.seconds) + "\">";
  if (verdict.verdict == "skip") text += "<skipped message=\"" + for_xml(verdict.message) + "\"/>";
  if (verdict.verdict == "fail") text += "<failure>" + for_xml(verdict.message) + "</failure>";
  return text + "</testcase>\n";
}

void write_junit(const std::string& cases, const std::string& file) {
  write_file(file,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"contracts\">\n" + cases + "</testsuite>\n");
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

int check(const ContractsArguments& options) {
  const TemporaryFolder folder;
  const std::string program = test_program(false);
  const std::vector<Case> cases = selected(all_cases(program, folder), options);
  if (options.list) return list(cases);
  const auto verdicts = run_cases(program, cases, folder, "", {});
  const std::vector<Row> rows = rows_of(cases, verdicts);
  if (options.json.wanted()) {
    nlohmann::ordered_json json;
    for (const Row& row : rows) {
      nlohmann::ordered_json failed = nlohmann::ordered_json::array();
      for (const std::string& path : row.failed)
        failed.push_back({{"case", path}, {"message", verdicts.at(path).message}});
      json["contracts"].push_back({{"id", row.id},
                                   {"device", row.device},
                                   {"verdict", row.verdict},
                                   {"seconds", row.seconds},
                                   {"promise", row.promise},
                                   {"failed", failed}});
    }
    options.json.write(text_of(json));
  }
  if (!options.junit_file.empty()) {
    std::string junit;
    for (const Case& entry : cases)
      junit += junit_case(entry.device, entry.path.substr(entry.path.rfind('/') + 1), verdicts.at(entry.path));
    write_junit(junit, options.junit_file);
  }
  if (!options.json.alone()) print_table(rows, verdicts);
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.verdict == "pass"; }) ? fine
                                                                                                     : does_not_hold;
}

std::set<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

/// One id under one saboteur.
struct Job {
  std::size_t saboteur;
  std::string id;
  std::vector<Case> cases;
  int seconds = 20;  // and ten times what the cases take undisturbed
  bool red = false;
  double taken = 0;
};

std::vector<Job> jobs_of(const std::vector<Case>& cases, const std::map<std::string, Verdict>& undisturbed) {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < std::size(saboteurs); ++i)
    for (const std::string& id : words(saboteurs[i].ids)) {
      Job job{i, id, {}};
      double seconds = 0;
      for (const Case& entry : cases)
        if (entry.id == id) {
          job.cases.push_back(entry);
          seconds += undisturbed.at(entry.path).seconds;
        }
      job.seconds += static_cast<int>(10 * seconds);
      if (!job.cases.empty()) jobs.push_back(std::move(job));
    }
  return jobs;
}

void run_jobs(const std::string& program, std::vector<Job>& jobs, const TemporaryFolder& folder) {
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) {
      Job& job = jobs[i];
      const auto verdicts = run_cases(
          program, job.cases, folder, std::to_string(i),
          {.saboteur = std::string(saboteurs[job.saboteur].name), .seconds = job.seconds, .until_failure = true});
      for (const auto& [path, verdict] : verdicts) job.taken += verdict.seconds;
      job.red = std::any_of(verdicts.begin(), verdicts.end(), [](const auto& v) { return v.second.verdict == "fail"; });
    }
  };
  std::thread other(work);
  work();
  other.join();
}

void print_ids(const std::string& label, const std::vector<std::string>& ids) {
  std::cout << label;
  for (const std::string& id : ids) std::cout << ' ' << id;
}

int sabotage(const ContractsArguments& options) {
  const TemporaryFolder folder;
  const std::string program = test_program(true);
  std::vector<Case> cases = selected(all_cases(program, folder), options);
  const auto undisturbed = run_cases(program, cases, folder, "", {});
  const std::set<std::string> of_sources = words(kept_by_the_source);
  std::set<std::string> sick, unproven;
  for (const Row& row : rows_of(cases, undisturbed)) {
    if (row.verdict == "fail") sick.insert(row.id);
    if (row.verdict == "fail" || !of_sources.count(row.id)) unproven.insert(row.id);
  }
  std::erase_if(cases, [&](const Case& entry) { return sick.count(entry.id); });  // they would fail anyway
  std::vector<Job> jobs = jobs_of(cases, undisturbed);
  run_jobs(program, jobs, folder);

  bool all_red = true;
  std::string junit;
  nlohmann::ordered_json json{{"saboteurs", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < jobs.size();) {
    const std::size_t number = jobs[i].saboteur;
    std::vector<std::string> red, green;
    for (; i < jobs.size() && jobs[i].saboteur == number; ++i) {
      (jobs[i].red ? red : green).push_back(jobs[i].id);
      if (jobs[i].red) unproven.erase(jobs[i].id);
      junit += junit_case(std::string(saboteurs[number].name), jobs[i].id,
                          {jobs[i].red ? "pass" : "fail", jobs[i].taken, "no case fails under this saboteur"});
    }
    json["saboteurs"].push_back(
        {{"name", saboteurs[number].name}, {"breaks", saboteurs[number].breaks}, {"red", red}, {"green", green}});
    if (!options.json.alone()) {
      std::cout << std::left << std::setw(38) << saboteurs[number].name;
      print_ids("red:", red);
      if (!green.empty()) print_ids("   STILL GREEN:", green);
      std::cout << '\n';
    }
    all_red = all_red && green.empty();
  }
  std::vector<std::string> left(unproven.begin(), unproven.end());
  std::sort(left.begin(), left.end(), before);
  json["unproven"] = left;
  json["fail_anyway"] = sick;
  options.json.write(text_of(json));
  if (!options.junit_file.empty()) {
    for (const std::string& id : left)
      junit += junit_case("unproven", id,
                          {"fail", 0, sick.count(id) ? "it fails without a saboteur" : "no saboteur makes it fail"});
    write_junit(junit, options.junit_file);
  }
  if (!options.json.alone()) {
    if (!sick.empty()) print_ids("fail without a saboteur:", {sick.begin(), sick.end()});
    print_ids(sick.empty() ? "unproven:" : "\nunproven:", left);
    std::cout << (left.empty() ? " none\n" : "\n");
  }
  return left.empty() && all_red ? fine : does_not_hold;
}

}  // namespace

void add_contracts(CLI::App& app, Action& action) {
  auto options = std::make_shared<ContractsArguments>();
  CLI::App& command = *app.add_subcommand("contracts", "Test the promises, and that their tests can fail");
  command.add_option("ids", options->ids, "Only these: rows (XFER-2) or groups (XFER)")->type_name("ID");
  command.add_option("--device", options->device,
                     "Only this device: cpu, simulated, cuda, or any for rows without one");
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
