// Measuring two runs by a float64 run.
#include "compare/referee_run.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "compare/comparable.hpp"
#include "compare/steps.hpp"

namespace assay {
namespace {

std::string further_of(const Distances& a, const Distances& b) {
  if (a.relative.empty()) return "";
  const double of_a = a.relative.back(), of_b = b.relative.back();
  if (of_a == of_b) return "neither";
  return (of_a > of_b) != sabotaged("referee_takes_the_other_side") ? "A" : "B";
}

void require_referee(const std::string& folder, const RunHead& referee, const std::string& folder_a, const RunHead& a) {
  std::string found;
  if (!is_float64(referee)) found = "device is " + provenance_of(referee, "device", "(not recorded)");
  for (const Difference& difference : differences_of_experiment(a, referee))
    found +=
        (found.empty() ? "" : "; ") + difference.what + " is " + difference.a + " there, " + difference.b + " here";
  if (!found.empty())
    throw Error("CMP-4", "referee run " + folder, "the experiment of " + folder_a + " on the device reference", found);
}

}  // namespace

std::string RefereeRun::further() const { return further_of(a.all, b.all); }

std::vector<std::string> RefereeRun::further_in(const std::string& side) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    if (further_of(a.parameters[i], b.parameters[i]) == side) names.push_back(a.parameters[i].name);
  return names;
}

RefereeRun judge_by_run(const std::string& folder, const std::string& folder_a, const RunData& a,
                        const std::string& folder_b, const RunData& b, const NameMap& names_of_b) {
  RunData referee{read_head(folder), {}};
  require_referee(folder, referee, folder_a, a);
  RunReader reader(folder, referee);
  while (const RunTable* rows = reader.next()) referee.table.append_plain_columns(*rows);

  RefereeRun run{
      folder, {}, {}, loss_distance(referee.table.loss, a.table.loss), loss_distance(referee.table.loss, b.table.loss)};
  const auto files_a = checkpoint_files(folder_a + "/checkpoints"),
             files_b = checkpoint_files(folder_b + "/checkpoints");
  std::vector<std::string> paths;  // of R, A and B in turn
  for (const auto& [step, path] : checkpoint_files(folder + "/checkpoints")) {
    const auto in_a = files_a.find(step), in_b = files_b.find(step);
    if (in_a == files_a.end() || in_b == files_b.end()) continue;
    paths.insert(paths.end(), {path, in_a->second, in_b->second});
  }
  SealedFilesInTurn files(paths);
  for (std::size_t i = 0; i < paths.size(); i += 3) {
    const Checkpoint truth = load_checkpoint(files.next());
    run.a.add(truth, load_checkpoint(files.next()));
    Checkpoint state_b = load_checkpoint(files.next());
    rename(state_b, names_of_b);
    run.b.add(truth, state_b);
  }
  return run;
}

}  // namespace assay
