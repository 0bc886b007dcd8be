// assay run: trains an experiment, or repeats a run and says whether the bits agree.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "compare/verdict.hpp"
#include "device/counters.hpp"
#include "device/cpu/thread_pool.hpp"
#include "harness/configuration_keys.hpp"
#include "harness/run.hpp"

namespace assay::app {
namespace {

void print(const RunOutcome& outcome) {
  std::cout << outcome.folder << "  " << outcome.status << ", " << outcome.steps << " steps\n";
  if (outcome.status == "complete")
    std::cout << "  test accuracy  " << outcome.test_accuracy << "\n  test loss      " << outcome.test_loss
              << "\n  parameters     SHA-256 " << outcome.parameters_digest << "\n";
  std::ostringstream memory;
  memory << std::fixed << std::setprecision(1) << static_cast<double>(outcome.peak_bytes) / 0x1p20;
  std::cout << "  memory         " << memory.str() << " MiB of values at most\n";
  if (outcome.numerics != "exact")
    std::cout << "  numerics       " << outcome.numerics << ": other bits than exact, and not everywhere the same\n";
}

/// Who asked for how much: one row a place, by kind, the most frequent first.
void write_access_counts(const std::string& folder, const std::vector<AccessRow>& rows) {
  const std::string path = folder + "/access_counts.tsv";
  std::ofstream file(path);
  file << "access\tcount\tbytes\tplace\n";
  for (const AccessRow& row : rows) {
    file << to_string(row.access) << '\t' << row.count << '\t' << row.bytes << '\t';
    if (row.line > 0) file << row.file.substr(row.file.find_first_not_of("./")) << ':' << row.line << ' ';
    file << row.function << '\n';
  }
  if (!file.flush()) throw Error("FILE-2", path, "a file that can be written", "an error while writing");
  std::cout << "  accesses       " << path << "\n";
}

int execute(const RunRequest& request, bool access_counts) {
  const unsigned cores = std::thread::hardware_concurrency();
  if (!std::getenv("ASSAY_THREADS") && cores > 0) set_threads(static_cast<int>(std::min(cores, 1024u)));
  std::optional<AccessScope> counts;
  if (access_counts) counts.emplace();
  const RunOutcome outcome = run_experiment(request);
  print(outcome);
  if (counts) write_access_counts(outcome.folder, counts->rows());
  if (!outcome.repeats || outcome.status != "complete") return fine;
  const Comparison comparison = compare_runs(*outcome.repeats, outcome.folder, Policy{});
  std::cout << "\nRepeats " << *outcome.repeats << ": " << verdict_text(comparison);
  return comparison.holds ? fine : does_not_hold;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  struct Options {
    RunRequest request;
    std::vector<std::string> settings;
    std::string device, numerics, threads, trace;
    bool access_counts = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("run", "Train an experiment, or repeat a run and compare the bits");
  command.add_option("source", options->request.source, "Experiment file (TOML), or the folder of a run to repeat")
      ->required()
      ->type_name("EXPERIMENT.toml|RUN");
  command.add_option("--device", options->device, "Where to compute; assay devices lists them (sets run.device)");
  command.add_option(
      "--numerics", options->numerics,
      "exact: the same bits everywhere; fast: Eigen, libm, cuBLAS, no bits promised (sets run.numerics)");
  command.add_option(
      "--threads", options->threads,
      "Threads, which never change a bit under exact; else ASSAY_THREADS, or one per core (sets run.threads)");
  command.add_option("--trace", options->trace,
                     "Record digests of each step: none, step, module or op (sets trace.level)");
  command.add_option("--set", options->settings, "A key of the configuration; the last one of a key wins")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--out", options->request.out, "Folder of the run; else the next free runs/NNNN")
      ->type_name("DIR");
  command.add_flag("--resume", options->request.resume,
                   "Go on with the run in DIR, or in RUN, from its last checkpoint");
  command.add_flag("--access-counts", options->access_counts,
                   "Count reads, transfers, launches and allocations by place, into DIR/access_counts.tsv");
  command.add_flag_callback(
      "--help-keys",
      [] {
        std::cout << key_reference();
        throw CLI::Success();
      },
      "Print every key of an experiment file and exit");
  command.footer(
      "Ctrl-C ends the run after the current step, with a checkpoint. A repeated run is compared with the first one;\n"
      "exit status 1 says that the bits differ.\n"
      "Examples: assay run experiments/fashion_mnist/smoke.toml --set train.steps=200 --out runs/first\n"
      "          assay run runs/first --out runs/again");
  command.callback([options, &action] {
    action = [options] {
      RunRequest& request = options->request;
      request.overrides = options->settings;
      if (!options->device.empty()) request.overrides.push_back("run.device=" + options->device);
      if (!options->numerics.empty()) request.overrides.push_back("run.numerics=" + options->numerics);
      if (!options->threads.empty()) request.overrides.push_back("run.threads=" + options->threads);
      if (!options->trace.empty()) request.overrides.push_back("trace.level=" + options->trace);
      request.command_line = command_line;
      return execute(request, options->access_counts);
    };
  });
}

}  // namespace assay::app
