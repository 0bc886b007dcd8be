// assay compare: two runs under a policy.
#include <iostream>
#include <memory>

#include "app/commands.hpp"
#include "app/json_output.hpp"
#include "compare/verdict.hpp"

namespace assay::app {
namespace {

struct Options {
  std::string a, b, policy = "bitwise";
  JsonOutput json;
};

int execute(const Options& options) {
  const Comparison comparison = compare_runs(options.a, options.b, parse_policy(options.policy));
  options.json.write(comparison_json(comparison));
  if (!options.json.alone()) std::cout << verdict_text(comparison);
  return comparison.holds ? fine : does_not_hold;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("compare", "Compare two runs and name the first step and tensor that differ");
  command.add_option("a", options->a, "Folder of a run")->required()->type_name("RUN_A");
  command.add_option("b", options->b, "Folder of another")->required()->type_name("RUN_B");
  command.add_option("--policy", options->policy, "What counts as the same (default: bitwise)")
      ->type_name("bitwise|ulp:N|close:RTOL,ATOL");
  options->json.add_to(command, "the verdict");
  command.footer(
      "Exit status: 0 it holds, 1 it does not (or the two are different experiments), 2 usage or file error.\n"
      "Example: assay compare runs/0001 runs/0002 --policy ulp:4 --json");
  command.callback([options, &action] { action = [options] { return execute(*options); }; });
}

}  // namespace assay::app
