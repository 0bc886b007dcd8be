// assay compare: two runs under a policy.
#include <iostream>
#include <memory>

#include "app/commands.hpp"
#include "app/json_output.hpp"
#include "compare/verdict.hpp"

namespace assay::app {
namespace {

struct CompareArguments {
  std::string a, b, policy = "bitwise", names;
  std::vector<std::string> nulls;
  CLI::Option* referee = nullptr;
  std::string referee_run;
  JsonOutput json;
};

int execute(const CompareArguments& options) {
  const Comparison comparison = compare_runs(
      options.a, options.b, parse_policy(options.policy),
      {options.referee->count() > 0 ? Explain::referee : Explain::replay,
       options.names.empty() ? NameMap{} : read_name_map(options.names), options.nulls, options.referee_run});
  options.json.write(comparison_json(comparison));
  if (!options.json.alone()) std::cout << verdict_text(comparison);
  return comparison.holds ? fine : does_not_hold;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompareArguments>();
  CLI::App& command =
      *app.add_subcommand("compare", "Compare two runs: the first difference, its size, its cause, the wrong side");
  command.add_option("a", options->a, "Folder of a run")->required()->type_name("RUN_A");
  command.add_option("b", options->b, "Folder of another")->required()->type_name("RUN_B");
  command.add_option("--policy", options->policy, "What counts as the same (default: bitwise)")
      ->type_name("bitwise|ulp:N|close:RTOL,ATOL");
  command.add_option("--map", options->names, "Names of RUN_B, and what RUN_A calls the same")->type_name("NAMES.toml");
  command
      .add_option("--null", options->nulls,
                  "A run that differs from A in model.perturbed or in experiment.seed alone; may be repeated")
      ->type_name("RUN")
      ->allow_extra_args(false);
  options->referee = command
                         .add_option("--referee", options->referee_run,
                                     "Judge both sides of the first difference by float64 and the operation's rounding "
                                     "bound; with RUN_R, the same experiment on the device reference, also both runs")
                         ->type_name("[RUN_R]")
                         ->expected(0, 1);
  options->json.add_to(command, "the verdict");
  command.footer(
      "What differs first is computed again from the last checkpoint before it, where code and data are here.\n"
      "Exit status: 0 it holds, 1 it does not (or the two are different experiments), 2 usage or file error.\n"
      "Example: assay compare runs/0001 runs/0002 --policy ulp:4 --json");
  command.callback([options, &action] { action = [options] { return execute(*options); }; });
}

}  // namespace assay::app
