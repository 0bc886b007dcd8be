// A training that goes on from a file has the bits of the one that nobody stopped; a state that does not fit, or a load
// that fails, changes nothing.
#include "device/counters.hpp"
#include "device/cpu/thread_pool.hpp"
#include "harness/training.hpp"
#include "support/contract.hpp"
#include "support/tensors.hpp"
#include "support/training.hpp"
#include "unit/files_support.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// Dropout, shuffling, a short last batch, accumulation over shards, clipping and a schedule: nine steps, three an
/// epoch.
Configuration with_everything_on(Device device, std::vector<std::string> overrides = {}) {
  overrides.push_back("run.device=" + to_string(device));
  return parse_configuration(R"(
    data = { kind = "synthetic", validation = 2, synthetic = { samples = 20, features = 5, classes = 3 } }
    model = { layers = [5, 6, 3], dropout = 0.25 }
    optimiser = { learning_rate = 0.01, weight_decay = 0.01 }
    schedule = { kind = "one_cycle" }
    train = { batch = 7, epochs = 3, shards = 2, clip_norm = 0.5 }
  )",
                             "test", overrides);
}

/// The whole state, without the name of the device and the count of writes to each value.
Checkpoint state_of(const Training& training) {
  Checkpoint state = training.checkpoint();
  state.device.clear();
  for (StoredParameter& parameter : state.parameters) parameter.version = 0;
  return state;
}

/// A training that nobody stops: its steps, its last state, and a file of the state before each step and after all.
struct Whole {
  Whole(const Configuration& configuration, const Datasets& data) {
    Training training(configuration, data);
    for (;;) {
      save_checkpoint(file(training.step()), training.checkpoint());
      if (training.step() == training.total_steps()) break;
      rows.push_back(training.advance());
    }
    end = state_of(training);
  }
  std::string file(std::uint64_t step) const { return checkpoint_path(folder.path(), step); }

  void check_next(Training& training, const std::string& what) const {
    const StepRow row = training.advance();
    check_same_step(rows.at(row.step - 1), row, what);
  }
  /// Goes on to the end, comparing each step.
  void finish(Training& training, const std::string& what) const {
    while (training.step() < training.total_steps()) check_next(training, what);
    BOOST_TEST((state_of(training) == end), what << ": the state at the end");
  }

  Folder folder;
  std::vector<StepRow> rows;
  Checkpoint end;
};

void check_resumed(const Configuration& here, const Configuration& there, bool other_threads) {
  Datasets data = load_datasets(here.data);
  Whole whole(here, data);
  for (std::uint64_t step = 0; step <= whole.rows.size(); ++step) {
    std::string what = "resumed after step " + std::to_string(step);
    if (other_threads) set_threads(2 + static_cast<int>(step % 2));
    Training first(there, data), second(there, data);
    first.restore(load_checkpoint(whole.file(step)));
    if (step < whole.rows.size()) whole.check_next(first, what);
    const std::string again = whole.folder / "again.h5";
    save_checkpoint(again, first.checkpoint());
    second.restore(load_checkpoint(again));
    whole.finish(second, what + " and after the next");
  }
  set_threads(1);
}

}  // namespace

CONTRACT(FILE_1_a_training_stopped_after_any_step_and_after_the_next_has_the_bits_of_the_whole) {
  for (std::vector<std::string> options : std::vector<std::vector<std::string>>{
           {}, {"optimiser.kind=sgd", "optimiser.momentum=0.9", "optimiser.nesterov=true", "train.steps=4"}})
    check_resumed(with_everything_on(device, options), with_everything_on(device, options), false);
}

CONTRACT(FILE_1_a_training_saved_here_goes_on_on_another_device_and_number_of_threads_with_the_same_bits) {
  check_resumed(with_everything_on(device), with_everything_on(device == cpu ? simulated : cpu), true);
}

CONTRACT(FILE_3_a_state_that_does_not_fit_is_refused_by_name_and_changes_nothing) {
  Configuration configuration = with_everything_on(device);
  Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  training.advance();
  const Checkpoint before = training.checkpoint();
  auto refused = [&](const Checkpoint& state, const std::string& id, const std::string& fragment) {
    check_refused([&] { training.restore(state); }, id, fragment);
    BOOST_TEST((training.checkpoint() == before), fragment);
  };
  auto of_another = [&](const std::vector<std::string>& overrides, const std::string& id, const std::string& fragment) {
    Training other(with_everything_on(device, overrides), data);
    other.advance();
    refused(other.checkpoint(), id, fragment);
  };
  of_another({"model.layers=[5,7,3]"}, "FILE-3", "fc1.weight: expected float32 [6, 5], found float32 [7, 5]");
  of_another({"model.layers=[5,6,6,3]"}, "FILE-3", "number of parameters: expected 4, found 6");
  of_another({"optimiser.kind=sgd"}, "FILE-3", "number of optimiser tensors: expected 8, found 4");
  of_another({"optimiser.kind=adam"}, "OPT-7", "kind");
  of_another({"optimiser.beta1=0.8"}, "OPT-7", "beta power 0");
  of_another({"experiment.seed=1"}, "FILE-3", "seed of step 1: expected 0, found 1");
  of_another({"train.batch=18"}, "FILE-3", "epoch of step 1: expected 0, found 1");
  of_another({"model.dropout=0"}, "FILE-3", "number of random streams");

  auto changed = [&](const std::string& fragment, const std::function<void(Checkpoint&)>& change) {
    Checkpoint state = before;
    change(state);
    refused(state, "FILE-3", fragment);
  };
  changed("parameter 0: expected \"fc1.weight\", found \"w\"", [](Checkpoint& c) { c.parameters[0].name = "w"; });
  changed("number of parameters", [](Checkpoint& c) { c.parameters.push_back(c.parameters[0]); });
  changed("random stream 0", [](Checkpoint& c) { c.random_streams[0] = "another"; });
  changed("number of random draws", [](Checkpoint& c) { c.random_draws.clear(); });
  changed("step: expected at most 9, found 10", [](Checkpoint& c) { c.step = 10; });
  changed("position", [](Checkpoint& c) { c.train["position"] = std::uint64_t{2}; });
  changed("\"seed\": expected the type", [](Checkpoint& c) { c.train["seed"] = 0.0; });
  changed("\"step_count\", found none", [](Checkpoint& c) { c.optimiser_scalars.erase("step_count"); });
  changed("first_moment.fc1.weight", [](Checkpoint& c) { c.optimiser_arrays[0].array.shape = {30}; });
}

CONTRACT(FILE_8_a_file_keeps_the_order_of_the_parameters_and_a_training_of_another_order_refuses_it) {
  Configuration configuration = with_everything_on(device);
  Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  Folder folder;
  Checkpoint state = training.checkpoint();
  std::vector<std::string> stored;
  save_checkpoint(folder / "a.h5", state);
  for (const StoredParameter& entry : load_checkpoint(folder / "a.h5").parameters) stored.push_back(entry.name);
  BOOST_TEST(stored == training.names().parameters, boost::test_tools::per_element());
  std::swap(state.parameters[1], state.parameters[3]);
  save_checkpoint(folder / "b.h5", state);
  check_refused([&] { training.restore(load_checkpoint(folder / "b.h5")); }, "FILE-3",
                "parameter 1: expected \"fc1.bias\", found \"fc2.bias\"");
}

CONTRACT(FILE_3_a_load_that_fails_at_any_action_of_the_device_changes_nothing) {
  Configuration configuration = with_everything_on(device, {"train.shards=1"});
  Datasets data = load_datasets(configuration.data);
  Training source(configuration, data);
  source.advance();
  const Checkpoint state = source.checkpoint();
  std::uint64_t failures = 0;
  for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch}) {
    Training training(configuration, data);
    const Checkpoint before = training.checkpoint();
    for (std::uint64_t nth = 1;; ++nth, ++failures) {
      FaultScope fault(device, action, nth);
      try {
        training.restore(state);
      } catch (const Error& error) {
        BOOST_TEST(error.id() == "RES-6");
      }
      if (!fault.fired()) break;
      BOOST_TEST((training.checkpoint() == before), "failure " << nth);
    }
    BOOST_TEST(training.step() == 1u);
    source.restore(state);
    check_same_step(source.advance(), training.advance(), "after the failures");
  }
  BOOST_TEST(failures >= 24u);
}
