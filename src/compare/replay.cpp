// Getting to a step, and computing it under observation.
#include "compare/replay.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "compare/number_text.hpp"
#include "harness/progress.hpp"
#include "harness/provenance.hpp"
#include "kernels/digest.hpp"

namespace assay {
namespace {

/// What an observer that has seen enough ends a step with.
struct Ended {};

/// The state with its real numbers in the element type of a device.
Checkpoint for_device(Checkpoint state, Device device) {
  if (device != reference_device) return state;
  const auto widen = [](Array& array) {
    if (array.type != ElementType::float32) return;
    const std::vector<float> narrow = array.values<float>();
    array = Array::of(std::span<const double>(std::vector<double>(narrow.begin(), narrow.end())), array.shape);
  };
  for (StoredParameter& parameter : state.parameters) widen(parameter.value);
  for (NamedArray& tensor : state.optimiser_arrays) widen(tensor.array);
  return state;
}

/// The last checkpoint at or before a step; nothing: the initial values.
std::optional<Checkpoint> checkpoint_until(const std::string& folder, std::uint64_t step) {
  std::optional<std::string> path;
  for (const auto& [at, file] : checkpoint_files(folder + "/checkpoints"))
    if (at <= step) path = file;
  if (!path) return std::nullopt;
  return load_checkpoint(*path);
}

/// Errors: CMP-2 unless a step that was computed again left the bits that the run recorded.
void require_recorded(const std::string& folder, const RunNames& names, const RunTable& rows, const StepRow& row) {
  const std::size_t width = names.parameters.size(), at = rows.row_of(row.step);
  const auto refuse = [&](const std::string& what, std::uint64_t expected, std::uint64_t found) {
    if (expected != found)
      throw Error("CMP-2", "replay of step " + std::to_string(row.step) + " of " + folder,
                  what + " with the recorded digest " + digest_text(expected), digest_text(found));
  };
  refuse("sample ids", rows.ids_digest[at], row.ids_digest);
  if (width == 0) return;  // it recorded no digests
  refuse("a loss", rows.loss_digest[at], row.loss_digest);
  for (std::size_t i = 0; i < width; ++i)
    refuse("parameter " + names.parameters[i], rows.parameters[at * width + i], row.parameters[i]);
}

}  // namespace

std::optional<std::size_t> ReplayedStep::find(const std::string& name) const {
  const auto found =
      std::find_if(results.begin(), results.end(), [&](const auto& result) { return result.name == name; });
  if (found == results.end()) return std::nullopt;
  return static_cast<std::size_t>(found - results.begin());
}

Replay::Replay(const std::string& folder, const RunHead& run, std::uint64_t step) : step_(step) {
  const ConfigurationText& text = run.description.configuration;
  configuration_ = parse_configuration(text.toml, folder + "/run.h5", text.overrides);
  configuration_.trace = {};
  data_ = std::make_shared<Datasets>(load_inputs(configuration_));
  require_same_data(folder, run.description.provenance, *data_);

  Training& way = training(configuration_.run.numerics == "exact" ? exact() : configuration_);
  if (const auto state = checkpoint_until(folder, step < 2 ? 0 : step - 2)) way.restore(*state);
  began_at_ = way.step();
  RunReader reader(folder, run, began_at_ + 1, step - 1);
  Progress progress(step - 1, began_at_);
  for (const RunTable* rows = nullptr; way.step() < step - 1;) {
    if (way.step() + 2 == step) earlier_ = way.checkpoint();
    const StepRow row = way.advance();
    while (!rows || rows->steps() == 0 || rows->step.back() < row.step) rows = reader.next();
    require_recorded(folder, run.description.names, *rows, row);
    progress.show(row.step, "replay of " + folder);
  }
  before_ = way.checkpoint();
}

Replay::Replay(const Replay& other, std::shared_ptr<Datasets> data)
    : configuration_(other.configuration_),
      data_(std::move(data)),
      step_(other.step_),
      began_at_(other.began_at_),
      before_(other.before_),
      earlier_(other.earlier_) {}

Replay Replay::on_inputs(const std::function<double(double)>& change) const {
  auto data = std::make_shared<Datasets>(*data_);
  for (float& input : data->train.inputs) input = static_cast<float>(change(input));
  return {*this, std::move(data)};
}

Configuration Replay::elsewhere(const std::string& device, const std::string& numerics) const {
  Configuration configuration = configuration_;
  configuration.run.device = device;
  configuration.run.numerics = numerics;
  return configuration;
}

Training& Replay::training(const Configuration& configuration) const {
  std::unique_ptr<Training>& place = trainings_[configuration.run.device + " " + configuration.run.numerics];
  if (!place) place = std::make_unique<Training>(configuration, *data_);
  return *place;
}

ReplayedStep Replay::compute(const Configuration& configuration, const Checkpoint& state,
                             const Observer& observer) const {
  Training& here = training(configuration);
  here.restore(for_device(state, parse_device(configuration.run.device)));
  ReplayedStep replayed;
  std::size_t index = 0;
  here.observe([&](const std::string& name, const Tensor& value) {
    if (!observer)
      replayed.results.push_back({name, array_of(value), kernels::digest(value)});
    else if (!observer(index++, name, value))
      throw Ended{};
  });
  try {
    replayed.row = here.advance();
  } catch (const Ended&) {
  }
  here.observe({});
  return replayed;
}

}  // namespace assay
