// assay run: trains an experiment, or repeats a run and says whether the bits agree.
#include <iostream>
#include <memory>

#include "app/commands.hpp"
#include "compare/verdict.hpp"
#include "harness/configuration_keys.hpp"
#include "harness/run.hpp"

namespace assay::app {
namespace {

void print(const RunOutcome& outcome) {
  std::cout << outcome.folder << "  " << outcome.status << ", " << outcome.steps << " steps\n";
  if (outcome.status == "complete")
    std::cout << "  test accuracy  " << outcome.test_accuracy << "\n  test loss      " << outcome.test_loss
              << "\n  parameters     SHA-256 " << outcome.parameters_digest << "\n";
  if (outcome.numerics != "exact")
    std::cout << "  numerics       " << outcome.numerics << ": other bits than exact, and not everywhere the same\n";
}

int execute(const RunRequest& request) {
  const RunOutcome outcome = run_experiment(request);
  print(outcome);
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
    std::string device, numerics, threads;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("run", "Train an experiment, or repeat a run and compare the bits");
  command.add_option("source", options->request.source, "Experiment file (TOML), or the folder of a run to repeat")
      ->required()
      ->type_name("EXPERIMENT.toml|RUN");
  command.add_option("--device", options->device, "Where to compute; assay devices lists them (sets run.device)");
  command.add_option("--numerics", options->numerics,
                     "exact: the same bits everywhere; fast: Eigen and libm, no bits promised (sets run.numerics)");
  command.add_option("--threads", options->threads, "Threads, which never change a bit under exact (sets run.threads)");
  command.add_option("--set", options->settings, "A key of the configuration; the last one of a key wins")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--out", options->request.out, "Folder of the run; else the next free runs/NNNN")
      ->type_name("DIR");
  command.add_flag("--resume", options->request.resume,
                   "Go on with the run in DIR, or in RUN, from its last checkpoint");
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
      request.command_line = command_line;
      return execute(request);
    };
  });
}

}  // namespace assay::app
