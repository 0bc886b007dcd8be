// Reading null runs and what they differ in.
#include "compare/null_runs.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "compare/steps.hpp"

namespace assay {
namespace {

/// What makes the runs other experiments, and what makes their rounding another one.
std::vector<Difference> all_differences(const RunHead& a, const RunHead& null) {
  std::vector<Difference> found = differences_of_experiment(a, null);
  const auto fact = [](const RunHead& run, const std::string& name) {
    return provenance_of(run, name, "(not recorded)");
  };
  const auto compare = [&](const std::string& name) {
    if (fact(a, name) != fact(null, name)) found.push_back({name, fact(a, name), fact(null, name)});
  };
  compare("numerics");
  if (fact(a, "numerics") == "fast" || is_float64(a) != is_float64(null)) compare("device");
  return found;
}

/// Whether it is a run of another seed. Errors: CMP-4 when it is no null run.
bool is_other_seed(const std::string& folder_a, const RunHead& a, const std::string& folder, const RunHead& null) {
  const std::vector<Difference> differences = all_differences(a, null);
  const std::string only = differences.size() == 1 ? differences[0].what : "";
  if (only == "experiment.seed") return true;
  if (only == "model.perturbed" || sabotaged("any_run_is_a_null")) return false;
  std::string found;
  for (const Difference& difference : differences)
    found +=
        (found.empty() ? "" : "; ") + difference.what + " is " + difference.a + " there, " + difference.b + " here";
  throw Error("CMP-4", "null run " + folder,
              "a run that differs from " + folder_a + " in model.perturbed alone or in experiment.seed alone",
              found.empty() ? "the same experiment" : found);
}

NullRun read_null_run(const std::string& folder_a, const RunData& a, const std::string& folder) {
  RunData null{read_head(folder), {}};
  NullRun run;
  run.folder = folder;
  run.other_seed = is_other_seed(folder_a, a, folder, null);
  RunReader reader(folder, null);
  while (const RunTable* rows = reader.next()) null.table.append_plain_columns(*rows);
  run.loss = loss_distance(a.table.loss, null.table.loss);
  if (a.last_step == null.last_step) run.metrics = final_metrics(a, null);
  const auto files_a = checkpoint_files(folder_a + "/checkpoints"), files = checkpoint_files(folder + "/checkpoints");
  std::vector<std::string> paths_a, paths;
  for (const auto& [step, path] : files_a) {
    const auto other = files.find(step);
    if (other == files.end() || step > std::min(a.last_step, null.last_step)) continue;
    paths_a.push_back(path);
    paths.push_back(other->second);
  }
  SealedFilesInTurn in_a(paths_a), in_null(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Checkpoint state_a = load_checkpoint(in_a.next());
    run.curve.add(state_a, load_checkpoint(in_null.next()));
  }
  return run;
}

}  // namespace

void add_null_runs(Comparison& comparison, const RunData& a, const std::vector<std::string>& folders) {
  if (folders.empty()) return;
  for (const std::string& folder : folders)
    comparison.growth.nulls.push_back(read_null_run(comparison.a.folder, a, folder));
  const bool same_length = comparison.a.last_step == comparison.b.last_step;
  judge(comparison.growth, same_length ? comparison.metrics : std::vector<Metric>{});
}

}  // namespace assay
