// assay replay: recorded operations, run again and compared with what was recorded.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/json_output.hpp"
#include "compare/golden.hpp"

namespace assay::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* verdict_names[] = {"passed", "failed", "unsupported"};

struct ReplayArguments {
  std::string file, device = "cpu";
  JsonOutput json;
};

/// How many records have each verdict.
struct Counts {
  std::size_t of[3] = {};
  std::map<std::string, std::size_t> reasons;  ///< of the unsupported ones

  void add(const GoldenResult& result) {
    ++of[static_cast<int>(result.verdict)];
    if (result.verdict == GoldenResult::Verdict::unsupported) ++reasons[result.reason];
  }
};

struct Replay {
  GoldenFile golden;
  std::vector<GoldenResult> results;  ///< one a record
  std::map<std::string, Counts> operations;
  Counts all;
};

Replay replay(const ReplayArguments& options) {
  Replay replay{read_golden(options.file), {}, {}, {}};
  for (const GoldenRecord& record : replay.golden.records) {
    const GoldenResult result = run_record(record, parse_device(options.device));
    replay.operations[record.operation].add(result);
    replay.all.add(result);
    replay.results.push_back(result);
  }
  return replay;
}

std::string reasons_text(const Counts& counts) {
  std::string text;
  for (const auto& [reason, number] : counts.reasons)
    text += (text.empty() ? "" : "; ") + (counts.reasons.size() > 1 ? std::to_string(number) + " " : "") + reason;
  return text;
}

void print_row(int width, const std::string& name, const Counts& counts, const std::string& reasons) {
  std::printf("%-*s  %6zu  %6zu  %11zu%s%s\n", width, name.c_str(), counts.of[0], counts.of[1], counts.of[2],
              reasons.empty() ? "" : "  ", reasons.c_str());
}

void print_failure(const GoldenRecord& record, const GoldenResult& result) {
  std::printf("FAILED  %s (%s): ", record.name.c_str(), record.operation.c_str());
  if (!result.difference) {
    std::printf("%s\n", result.reason.c_str());
    return;
  }
  const GoldenResult::Difference& difference = *result.difference;
  const bool comparable = difference.ulp != ~std::uint64_t{0};
  std::printf("%s%s: expected %.9g, found %.9g, %s ULP apart; tolerance %s\n", difference.output.c_str(),
              difference.index.c_str(), difference.expected, difference.found,
              comparable ? std::to_string(difference.ulp).c_str() : "NaN", record.tolerance.text.c_str());
}

void print(const ReplayArguments& options, const Replay& replay) {
  std::size_t width = 9;
  for (const auto& [name, counts] : replay.operations) width = std::max(width, name.size());
  const int column = static_cast<int>(width);
  std::printf("%s: %zu records of %s, on %s\n\n", options.file.c_str(), replay.results.size(),
              replay.golden.source.c_str(), options.device.c_str());
  std::printf("%-*s  passed  failed  unsupported\n", column, "operation");
  for (const auto& [name, counts] : replay.operations) print_row(column, name, counts, reasons_text(counts));
  print_row(column, "all", replay.all, "");
  if (replay.all.of[1] > 0) std::printf("\n");
  for (std::size_t i = 0; i < replay.results.size(); ++i)
    if (replay.results[i].verdict == GoldenResult::Verdict::failed)
      print_failure(replay.golden.records[i], replay.results[i]);
  std::fflush(stdout);
}

Json counts_json(const Counts& counts) {
  Json json;
  for (int verdict = 0; verdict < 3; ++verdict) json[verdict_names[verdict]] = counts.of[verdict];
  return json;
}

std::string json_text(const ReplayArguments& options, const Replay& replay) {
  Json json{{"file", options.file}, {"source", replay.golden.source}, {"device", options.device}};
  json["holds"] = replay.all.of[1] == 0;
  json.update(counts_json(replay.all));
  json["operations"] = Json::array();
  for (const auto& [name, counts] : replay.operations) {
    Json row{{"operation", name}};
    row.update(counts_json(counts));
    row["reasons"] = counts.reasons;
    json["operations"].push_back(row);
  }
  json["records"] = Json::array();
  for (std::size_t i = 0; i < replay.results.size(); ++i) {
    const GoldenRecord& record = replay.golden.records[i];
    const GoldenResult& result = replay.results[i];
    Json row{{"record", record.name}, {"operation", record.operation}};
    row["verdict"] = verdict_names[static_cast<int>(result.verdict)];
    row["tolerance"] = result.verdict == GoldenResult::Verdict::unsupported ? Json() : Json(record.tolerance.text);
    row["reason"] = result.reason.empty() ? Json() : Json(result.reason);
    row["difference"] = nullptr;
    if (result.difference)
      row["difference"] = {{"output", result.difference->output},
                           {"index", Json::parse(result.difference->index)},
                           {"expected", result.difference->expected},
                           {"found", result.difference->found},
                           {"ulp", result.difference->ulp}};
    json["records"].push_back(row);
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

int execute(const ReplayArguments& options) {
  const Replay done = replay(options);
  options.json.write(options.json.wanted() ? json_text(options, done) : "");
  if (!options.json.alone()) print(options, done);
  return done.all.of[1] == 0 ? fine : does_not_hold;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReplayArguments>();
  CLI::App& command = *app.add_subcommand("replay", "Run recorded operations and compare with their recorded results");
  command.add_option("golden", options->file, "File of records, such as scripts/onnx_to_golden writes")
      ->required()
      ->type_name("GOLDEN.h5");
  command.add_option("--device", options->device, "Where to compute (default: cpu)");
  options->json.add_to(command, "the verdict");
  command.footer(
      "Exit status: 0 no record failed, 1 one did, 2 usage, file or device error. Records that the file itself gives\n"
      "as unsupported are counted with their reason and do not fail.\n"
      "Examples: assay replay onnx.h5\n"
      "          assay replay onnx.h5 --device simulated --json verdict.json");
  command.callback([options, &action] { action = [options] { return execute(*options); }; });
}

}  // namespace assay::app
