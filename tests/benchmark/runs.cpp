// Pairs of large run folders, which scripts/benchmark compare reads.
#include "benchmark/runs.hpp"

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/run_file.hpp"
#include "numerics/digest.hpp"

namespace assay::benchmark {
namespace {

constexpr std::int64_t side = 1024;  // of the matrices in a checkpoint: 4 MiB each
constexpr std::uint64_t rows_of_segment = 4000;

std::string numbered(const char* name, std::int64_t number) { return name + std::to_string(number); }

RunDescription description(RunNames names) {
  return {{"data.kind = 'synthetic'", {}, R"({"trace.level": "step", "schedule.kind": "constant"})"},
          {{"device", "cpu"}, {"threads", "1"}, {"data_digest", "none"}},
          std::move(names)};
}

StepRow row_of(std::uint64_t step, const RunNames& names) {
  StepRow row;
  row.step = step;
  row.loss = 0.5 + 2.0 / static_cast<double>(step);
  row.gradient_norm = 1 + 1.0 / static_cast<double>(step % 1000 + 1);
  row.learning_rate = 0.001;
  row.loss_digest = row.ids_digest = numerics::digest_term(step, 0);
  std::uint32_t column = 0;
  const auto fill = [&](std::vector<std::uint64_t>& digests, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) digests.push_back(numerics::digest_term(step, ++column));
  };
  fill(row.parameters, names.parameters.size());
  fill(row.gradients, names.parameters.size());
  fill(row.optimiser, names.optimiser.size());
  row.seconds = 0.01 + 1e-5 * static_cast<double>(step % 97);
  return row;
}

void finish(RunWriter& run) { run.finish({run.last_step(), 0.5, 0.875, "none", 1}); }

/// 16 kB of digests a step; from step `apart` on those of all gradients but the first are others in B.
void write_steps(const std::string& folder, std::uint64_t steps, std::uint64_t apart) {
  RunNames names;
  for (int i = 0; i < 500; ++i) {
    names.parameters.push_back(numbered("layer.", i));
    for (const char* moment : {"first_moment.", "second_moment."})
      names.optimiser.push_back(moment + names.parameters[i]);
  }
  RunWriter run = RunWriter::create(folder, description(names));
  for (std::uint64_t step = 1; step <= steps; ++step) {
    StepRow row = row_of(step, names);
    if (step >= apart)
      for (std::size_t i = 1; i < row.gradients.size(); ++i) row.gradients[i] ^= 1;
    run.append(row);
    if (step % rows_of_segment == 0) run.close_segment();
  }
  finish(run);
}

/// Of 96 MiB each: 8 parameters with two moments. The last checkpoint's last element, or every element of all of them,
/// is one ULP away in B.
void write_checkpoints(const std::string& folder, std::uint64_t checkpoints, bool last_element, bool all_elements) {
  RunNames names;
  Checkpoint state;
  state.device = "cpu";
  state.configuration = {"", {}, "{}"};
  state.optimiser_kind = "adamw";
  for (int i = 0; i < 8; ++i) names.parameters.push_back(numbered("layer.", i));
  RunWriter run = RunWriter::create(folder, description(names));
  std::vector<float> values(side * side);
  for (std::uint64_t step = 1; step <= checkpoints; ++step) {
    run.append(row_of(step, names));
    run.close_segment();
    state.step = step;
    state.parameters.clear();
    state.optimiser_arrays.clear();
    for (std::uint32_t part = 0; part < 24; ++part) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t random = numerics::digest_term(step * 24 + part, static_cast<std::uint32_t>(i));
        const bool last = step == checkpoints && part == 23 && i + 1 == values.size();
        values[i] = static_cast<float>(2 * (random >> 41) + 1 + (all_elements || (last_element && last))) * 0x1p-24f;
      }
      const std::string name = names.parameters[part % 8];
      Array array = Array::of<float>(values, {side, side});
      if (part < 8)
        state.parameters.push_back(
            {name, std::move(array), "OI", step, numerics::digest(values.data(), values.size())});
      else
        state.optimiser_arrays.push_back({(part < 16 ? "first_moment." : "second_moment.") + name, std::move(array)});
    }
    save_checkpoint(checkpoint_path(folder + "/checkpoints", step), state);
  }
  finish(run);
}

}  // namespace

bool write_runs(std::string_view kind, const std::string& folder, std::uint64_t megabytes) {
  const std::uint64_t steps = megabytes * 1000 / 16, checkpoints = megabytes / 100;
  const bool apart = kind.ends_with("_apart");
  if (kind.starts_with("steps")) {
    write_steps(folder + "/a", steps, steps + 1);
    write_steps(folder + "/b", steps, apart ? 2 : steps);
  } else if (kind.starts_with("checkpoints")) {
    write_checkpoints(folder + "/a", checkpoints, false, false);
    write_checkpoints(folder + "/b", checkpoints, !apart, apart);
  } else {
    return false;
  }
  return true;
}

}  // namespace assay::benchmark
