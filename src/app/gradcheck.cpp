// assay gradcheck: are the gradients of every operation, layer and loss right on this device?
#include "autograd/gradcheck.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "harness/gradcheck_cases.hpp"

namespace assay::app {
namespace {

std::vector<GradcheckCase> chosen(Device device, const std::vector<std::string>& names) {
  std::vector<GradcheckCase> cases = gradcheck_cases(device);
  if (names.empty()) return cases;
  for (const std::string& name : names)
    if (std::none_of(cases.begin(), cases.end(), [&](const GradcheckCase& one) { return one.name == name; })) {
      std::string known;
      for (const GradcheckCase& one : cases)
        if (known.find(" " + one.name + ",") == std::string::npos) known += " " + one.name + ",";
      throw Error("CHECK-1", "gradcheck", "one of" + known.substr(0, known.size() - 1), "\"" + name + "\"");
    }
  std::erase_if(
      cases, [&](const GradcheckCase& one) { return std::find(names.begin(), names.end(), one.name) == names.end(); });
  return cases;
}

}  // namespace

void add_gradcheck(CLI::App& app, Action& action) {
  struct Options {
    std::string device = "cpu";
    std::vector<std::string> names;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("gradcheck", "Compare gradients with central differences of the float64 reference");
  command.add_option("op", options->names, "Operations, layers and losses to check (default: all)");
  command.add_option("--device", options->device, "Where to compute the gradients (default: cpu)");
  command.footer(
      "Exit status 1 when a gradient is wrong, or when the check shows nothing because the loss does not move.\n"
      "Example: assay gradcheck softmax cross_entropy");
  command.callback([options, &action] {
    action = [options] {
      const std::vector<GradcheckCase> cases = chosen(parse_device(options->device), options->names);
      std::printf("%-22s %11s  %11s  verdict\n", "name", "worst error", "loss moves");
      bool all = true;
      for (const GradcheckCase& one : cases) {
        const GradcheckResult result = gradcheck(one);
        all = all && result.holds();
        std::printf("%-22s %11.2e  %11.2e  %s\n", result.name.c_str(), result.worst_error, result.movement,
                    result.holds() ? "holds" : result.complaint.c_str());
      }
      std::fflush(stdout);
      return all ? fine : does_not_hold;
    };
  });
}

}  // namespace assay::app
