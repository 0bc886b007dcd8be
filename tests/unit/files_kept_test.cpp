// Files of every format version that there was, kept in tests/data: they load for ever, to what was in them.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <span>

#include "base/sha256.hpp"
#include "files_support.hpp"
#include "harness/training.hpp"

BOOST_AUTO_TEST_SUITE(files_kept)

using namespace assay;
using namespace assay::files_test;

/// SHA-256 over all that was loaded, as text and bytes.
class Content {
 public:
  void add(const std::string& text) {
    const std::string line = text + '\n';
    hash_.update(std::as_bytes(std::span(line)));
  }
  void add(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) add(text);
  }
  void add(const Array& array) {
    add(std::string(element_name(array.type)) + " " + shape_text(array.shape));
    hash_.update(array.bytes);
  }
  void add(const std::map<std::string, hdf5::Value>& entries) {
    for (const auto& [name, value] : entries) {
      add(name);
      std::visit([&](const auto& entry) { add_entry(entry); }, value);
    }
  }
  void add(const ConfigurationText& text) {
    add(text.toml);
    add(text.overrides);
    add(text.resolved);
  }
  std::string digest() { return to_hex(hash_.finish()).substr(0, 16); }

 private:
  void add_entry(const std::string& text) { add(text); }
  template <class T>
  void add_entry(T number) {
    hash_.update(std::as_bytes(std::span(&number, 1)));
  }

  Sha256 hash_;
};

std::string digest_of(const Checkpoint& state) {
  Content content;
  content.add(std::to_string(state.step) + " on " + state.device);
  content.add(state.configuration);
  for (const StoredParameter& entry : state.parameters) {
    content.add(entry.name + " " + entry.axes + " " + std::to_string(entry.version));
    content.add(entry.value);
  }
  content.add(state.optimiser_kind);
  for (const NamedArray& entry : state.optimiser_arrays) {
    content.add(entry.name);
    content.add(entry.array);
  }
  content.add(state.optimiser_scalars);
  content.add(state.random_streams);
  content.add(Array::of(state.random_draws));
  content.add(state.train);
  return content.digest();
}

std::string digest_of(const RunData& run) {
  Content content;
  content.add(run.status + " " + std::to_string(run.last_step));
  content.add(run.description.configuration);
  for (const auto& [name, value] : run.description.provenance) content.add(name + " " + value);
  const RunNames& names = run.description.names;
  for (const auto* list : {&names.parameters, &names.optimiser, &names.masks}) content.add(*list);
  for_each_column(run.table, names, [&](const RunColumn& column, const auto& values) {
    if (column.name == "trace" && values.empty()) return;  // younger than the format
    content.add(column.name);
    content.add(Array::of(values));
  });
  if (run.result)
    content.add({{"steps", run.result->steps},
                 {"test_loss", run.result->test_loss},
                 {"test_accuracy", run.result->test_accuracy},
                 {"parameters_digest", run.result->parameters_digest},
                 {"seconds", run.result->seconds}});
  return content.digest();
}

#ifdef ASSAY_SOURCE_ROOT

/// Given a folder on the command line, this is how one of tests/data is made, once for each format version: see its
/// README.
BOOST_AUTO_TEST_CASE(a_run_as_tests_data_keeps_it_is_written_and_read) {
  const auto& program = boost::unit_test::framework::master_test_suite();
  const Folder temporary;
  const std::string folder = program.argc == 2 ? program.argv[1] : temporary / "run",
                    checkpoints = folder + "/checkpoints";
  const Configuration configuration = parse_configuration(R"([experiment]
name = "kept"
[data]
kind = "synthetic"
validation = 2
synthetic = { samples = 8, features = 3, classes = 2 }
[model]
layers = [3, 2, 2]
dropout = 0.5
[train]
batch = 4
)",
                                                          "kept.toml", {"train.steps=4", "experiment.seed=3"});
  const Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  const ConfigurationText text{configuration.text, configuration.overrides, resolved_json(configuration)};
  RunWriter run = RunWriter::create(folder, {text, {{"assay_version", "0.1"}, {"device", "cpu"}}, training.names()});
  while (training.step() < training.total_steps()) {
    run.append(training.advance());
    if (training.step() % 2 != 0) continue;
    const Evaluation now = training.evaluate(data.validation);
    run.append(ValidationRow{training.step(), now.loss, now.accuracy});
    run.close_segment();
    Checkpoint state = training.checkpoint();
    state.configuration = text;
    state.train["best_step"] = std::uint64_t{2};
    state.train["best_accuracy"] = 0.5;
    if (training.step() == 2) {  // the first files had no powers
      state.optimiser_scalars.erase("beta1_power");
      state.optimiser_scalars.erase("beta2_power");
    }
    save_checkpoint(checkpoint_path(checkpoints, training.step()), state);
  }
  const Evaluation end = training.evaluate(data.test);
  run.finish({training.step(), end.loss, end.accuracy, training.parameters_digest(), 0.25});
  for (std::uint64_t step : {2, 4}) BOOST_TEST_MESSAGE(digest_of(load_checkpoint(checkpoint_path(checkpoints, step))));
  const RunData written = read_run(folder);
  BOOST_TEST_MESSAGE(digest_of(written));
  BOOST_TEST(written.status == "complete");
  BOOST_TEST(written.last_step == 4u);
}

BOOST_AUTO_TEST_CASE(FILE_4_a_run_of_format_1_loads_to_what_was_written_and_its_checkpoints_are_restored) {
  const std::string folder = ASSAY_SOURCE_ROOT "/tests/data/format-1";
  const RunData run = read_run(folder);
  BOOST_TEST(digest_of(run) == "86012abf6b95cf3b");
  for (const auto& [step, digest] : {std::pair{2, "ae0cbe0dc3500260"}, {4, "be6da3aee8f74dd9"}}) {
    const Checkpoint state =
        load_checkpoint(checkpoint_path(folder + "/checkpoints", static_cast<std::uint64_t>(step)));
    BOOST_TEST(digest_of(state) == digest);
    const Configuration configuration =
        parse_configuration(state.configuration.toml, "kept.toml", state.configuration.overrides);
    const Datasets data = load_datasets(configuration.data);
    Training training(configuration, data);
    training.restore(state);
    BOOST_TEST(training.step() == state.step);
    if (step == 4) BOOST_TEST(training.parameters_digest() == run.result->parameters_digest);
  }
}

#endif

BOOST_AUTO_TEST_SUITE_END()
