// Small run folders for the tests of comparisons: three steps, two parameters, a checkpoint at step 2 and at the end.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "compare/verdict.hpp"
#include "files_support.hpp"

namespace assay::compare_test {

using files_test::Folder;

/// What a test may change of a run before it is written.
struct Script {
  std::uint64_t steps = 3;
  bool complete = true;
  std::uint64_t segment = 0;  ///< steps of one, where a checkpoint does not end it before
  nlohmann::json resolved = {{"experiment.seed", 7}, {"experiment.name", "small"}, {"model.layers", {2, 2}},
                             {"run.device", "cpu"},  {"run.threads", 1},           {"schedule.kind", "one_cycle"},
                             {"train.steps", 3},     {"checkpoint.every", 2},      {"data.path", "/here"}};
  std::map<std::string, std::string> provenance = {{"device", "cpu"}, {"threads", "1"}, {"data_digest", "d1"}};
  RunNames names = {{"fc1.weight", "fc1.bias"}, {"first_moment.fc1.weight"}, {"dropout1"}};
  std::function<void(StepRow&)> on_row = [](StepRow&) {};
  std::function<void(ValidationRow&)> on_validation = [](ValidationRow&) {};
  std::function<void(Checkpoint&)> on_checkpoint = [](Checkpoint&) {};
  std::function<void(RunResult&)> on_result = [](RunResult&) {};
};

inline StoredParameter stored(const std::string& name, const Array& value) {
  const auto digest = [](const auto& values) { return numerics::digest(values.data(), values.size()); };
  return {name, value, "OI", 1,
          value.type == ElementType::float32 ? digest(value.values<float>()) : digest(value.values<double>())};
}

/// A parameter of a checkpoint with another value; in float64 when T is double.
template <class T>
void replace(Checkpoint& checkpoint, std::size_t parameter, std::vector<T> values) {
  StoredParameter& old = checkpoint.parameters[parameter];
  old = stored(old.name, Array::of<T>(values, old.value.shape));
}

inline StepRow step_row(std::uint64_t step, const RunNames& names) {
  StepRow row = files_test::row(step);
  const auto digests = [&](std::size_t count, std::uint64_t base) {
    std::vector<std::uint64_t> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(base * step + i);
    return list;
  };
  row.parameters = digests(names.parameters.size(), 10);
  row.gradients = digests(names.parameters.size(), 20);
  row.optimiser = digests(names.optimiser.size(), 30);
  row.masks = digests(names.masks.size(), 40);
  return row;
}

inline Checkpoint state_after(std::uint64_t step) {
  Checkpoint state;
  state.step = step;
  state.device = "cpu";
  state.configuration = {"", {}, "{}"};
  state.parameters = {stored("fc1.weight", Array::of<float>(std::vector<float>{1, 2, 3, 4}, {2, 2})),
                      stored("fc1.bias", Array::of<float>(std::vector<float>{0.0f, 0.5f}, {2}))};
  state.optimiser_kind = "adamw";
  state.optimiser_arrays = {{"first_moment.fc1.weight", Array::of<float>(std::vector<float>{1, 1, 1, 1}, {2, 2})}};
  state.optimiser_scalars = {{"steps", step}};
  state.random_streams = {"dropout"};
  state.random_draws = {100 * step};
  state.train = {{"epoch", std::uint64_t{0}}, {"best_accuracy", 0.5}};
  return state;
}

/// Writes the run that the script tells of into `folder`.
inline std::string write_run(const std::string& folder, const Script& script = {}) {
  RunWriter writer = RunWriter::create(folder, {{"", {}, script.resolved.dump()}, script.provenance, script.names});
  for (std::uint64_t step = 1; step <= script.steps; ++step) {
    StepRow row = step_row(step, script.names);
    script.on_row(row);
    writer.append(row);
    if (step == 2) {
      ValidationRow validation{step, 0.25, 0.75};
      script.on_validation(validation);
      writer.append(validation);
    }
    if (script.segment > 0 && step % script.segment == 0) writer.close_segment();
    if (step != 2 && step != script.steps) continue;
    writer.close_segment();
    Checkpoint state = state_after(step);
    script.on_checkpoint(state);
    save_checkpoint(checkpoint_path(folder + "/checkpoints", step), state);
  }
  if (script.complete) {
    RunResult result{script.steps, 0.375, 0.8125, "ab12", 1.5};
    script.on_result(result);
    writer.finish(result);
  } else {
    writer.interrupt();
  }
  return folder;
}

/// The comparison of an unchanged run with the one that the script tells of.
inline Comparison compare_with(const Folder& folder, const Script& script, const std::string& policy = "bitwise") {
  static int number = 0;
  const std::string other = folder / ("b" + std::to_string(++number));
  if (!holds_run(folder / "a")) write_run(folder / "a");
  return compare_runs(folder / "a", write_run(other, script), parse_policy(policy));
}

}  // namespace assay::compare_test
