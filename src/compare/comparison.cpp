// Comparing two run folders: rows, checkpoints, validations, results, in this order at each step.
#include "compare/comparison.hpp"

#include <algorithm>
#include <future>

#include "checkpoint/checkpoint.hpp"
#include "compare/checkpoints.hpp"
#include "compare/null_runs.hpp"
#include "compare/number_text.hpp"
#include "compare/steps.hpp"

namespace assay {
namespace {

Comparison::Side side_of(const std::string& folder, const RunHead& run) {
  return {folder,
          run.status,
          provenance_of(run, "device"),
          provenance_of(run, "threads"),
          provenance_of(run, "numerics"),
          run.last_step,
          0};
}

/// Keeps the earlier one; of two at the same step the one found before.
void keep_first(std::optional<Divergence>& first, std::optional<Divergence> found) {
  if (found && (!first || found->step < first->step)) first = std::move(found);
}

ShownElement element_of(std::uint64_t step, const NamedDifference& tensor) {
  const ValueDifference::Element& element = *tensor.values.refused;
  return {step, tensor.name, index_text(tensor.shape, element.index), element.a, element.b, element.ulp};
}

/// The tensor that the policy refuses: the one of that name, else the first one.
const NamedDifference* refused_tensor(const std::vector<NamedDifference>& tensors, const std::string& name) {
  const NamedDifference* first = nullptr;
  for (const NamedDifference& tensor : tensors) {
    if (tensor.values.within()) continue;
    if (tensor.name == name) return &tensor;
    if (!first) first = &tensor;
  }
  return first;
}

std::optional<Divergence> tensor_difference(std::uint64_t step, const std::vector<NamedDifference>& tensors) {
  std::optional<Divergence> found;
  for (const NamedDifference& tensor : tensors) {
    if (tensor.values.within() || (found && tensor.table != found->table)) continue;
    const ValueDifference::Element& element = *tensor.values.refused;
    if (found)
      found->also.push_back(tensor.name);
    else
      found = Divergence{step, tensor.table, tensor.name, number_text(element.a), number_text(element.b), {}};
  }
  return found;
}

void compare_checkpoints(Comparison& comparison, const NameMap& names) {
  const auto files_a = checkpoint_files(comparison.a.folder + "/checkpoints");
  const auto files_b = checkpoint_files(comparison.b.folder + "/checkpoints");
  std::vector<std::string> paths_a, paths_b;
  for (const auto& [step, path] : files_a) {
    const auto other = files_b.find(step);
    if (other == files_b.end() || step > comparison.steps_compared) continue;
    comparison.checkpoints.push_back(step);
    paths_a.push_back(path);
    paths_b.push_back(other->second);
  }
  SealedFilesInTurn in_a(paths_a), in_b(paths_b);
  for (const std::uint64_t step : comparison.checkpoints) {
    const Checkpoint a = load_checkpoint(in_a.next());
    Checkpoint b = load_checkpoint(in_b.next());
    rename(b, names);
    auto growth = std::async(std::launch::async, [&] { comparison.growth.curve.add(a, b); });
    comparison.tensors = compare_tensors(a, b, comparison.policy);
    growth.get();
    std::optional<Divergence>& first = comparison.first_divergence;
    keep_first(first, tensor_difference(step, comparison.tensors));
    if (comparison.policy.kind == Policy::Kind::bitwise) keep_first(first, state_difference(a, b));
    if (!first || comparison.element) continue;
    if (const NamedDifference* tensor = refused_tensor(comparison.tensors, first->tensor))
      comparison.element = element_of(step, *tensor);
  }
}

void compare_metrics(Comparison& comparison, const RunData& a, const RunData& b) {
  const auto steps = static_cast<std::size_t>(comparison.steps_compared);
  const bool narrow = !(is_float64(a) && is_float64(b));
  const auto over_steps = [&](const std::string& name, const std::vector<double>& x, const std::vector<double>& y) {
    comparison.per_step.push_back(
        {"steps",
         name,
         {static_cast<std::int64_t>(steps)},
         compare_values(std::span(x).first(steps), std::span(y).first(steps), narrow, comparison.policy)});
  };
  over_steps("loss", a.table.loss, b.table.loss);
  over_steps("gradient_norm", a.table.gradient_norm, b.table.gradient_norm);
  comparison.growth.loss = loss_distance(a.table.loss, b.table.loss);
  comparison.metrics = final_metrics(a, b);
  std::vector<double> seconds_a = a.table.seconds, seconds_b = b.table.seconds;
  comparison.a.seconds_per_step = median(std::span(seconds_a));
  comparison.b.seconds_per_step = median(std::span(seconds_b));
}

std::size_t digests_per_step(const RunHead& a, const RunHead& b) {
  if (!has_tensor_digests(a) || !has_tensor_digests(b)) return 0;
  const RunNames& names = a.description.names;
  return 2 * names.parameters.size() + names.optimiser.size() + names.masks.size() + names.trace.size();
}

}  // namespace

Comparison compare_runs(const std::string& folder_a, const std::string& folder_b, const Policy& policy,
                        const CompareOptions& options) {
  RunData a{read_head(folder_a), {}}, b{read_head(folder_b), {}};
  rename(b, options.names);
  Comparison comparison;
  comparison.a = side_of(folder_a, a);
  comparison.b = side_of(folder_b, b);
  comparison.policy = policy;
  comparison.refused = differences_of_experiment(a, b);
  if (!comparison.refused.empty()) return comparison;

  const std::uint64_t common = std::min(a.last_step, b.last_step);
  comparison.steps_compared = common;
  comparison.tensors_per_step = policy.kind == Policy::Kind::bitwise ? digests_per_step(a, b) : 0;
  comparison.other_element_type = is_float64(a) != is_float64(b);

  std::optional<Divergence>& first = comparison.first_divergence;
  const StepDifferences steps = compare_steps(folder_a, a, folder_b, b, policy);
  first = steps.refused;
  compare_checkpoints(comparison, options.names);
  keep_first(first, first_validation_difference(a, b, policy, common, comparison.validations_compared));
  keep_first(first, result_difference(a, b, policy));
  compare_metrics(comparison, a, b);
  add_null_runs(comparison, a, options.nulls);
  if (!options.referee_run.empty())
    comparison.referee_run = judge_by_run(options.referee_run, folder_a, a, folder_b, b, options.names);
  if (options.explain != Explain::no && steps.bits)
    comparison.explanation =
        explain(folder_a, a, folder_b, b, options.names, *steps.bits, options.explain == Explain::referee);
  comparison.holds = !first && common > 0 && a.last_step == b.last_step;
  return comparison;
}

}  // namespace assay
