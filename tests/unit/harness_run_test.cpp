// Whole runs as `assay run` makes them: what their folder records, repeating one, interrupting one.
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "compare/comparison.hpp"
#include "data_files.hpp"
#include "device/counters.hpp"
#include "files_support.hpp"
#include "harness/run.hpp"
#include "harness/training.hpp"
#include "support/tensors.hpp"
#include "support/training.hpp"

namespace {

using namespace assay;
using test::check_refused;
using test::Folder;

const std::string experiment = R"([experiment]
name = "small"
[data]
kind = "synthetic"
validation = 4
synthetic = { samples = 20, features = 5, classes = 3 }
[model]
layers = [5, 6, 3]
dropout = 0.25
[train]
batch = 7
epochs = 2
[checkpoint]
every = 2
)";

struct RunPair {
  Folder folder;
  std::string toml = folder / "small.toml", a = folder / "a", b = folder / "b";
  RunPair() { files_test::put_bytes(toml, experiment); }
};

/// Every file of a folder and its bytes.
std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().string()] = files_test::bytes_of(entry.path().string());
  return files;
}

BOOST_FIXTURE_TEST_SUITE(harness_run, RunPair)

BOOST_AUTO_TEST_CASE(RUN_2_the_folder_alone_repeats_a_run_and_the_bits_agree) {
  run_experiment({.source = toml, .overrides = {"experiment.seed=9", "optimiser.kind=sgd", "train.steps=5"}, .out = a});
  std::filesystem::remove(toml);
  const RunOutcome outcome = run_experiment({.source = a, .out = b});
  BOOST_TEST(outcome.status == "complete");
  BOOST_REQUIRE((outcome.repeats == a));
  const Comparison comparison = compare_runs(*outcome.repeats, outcome.folder, Policy{});
  BOOST_TEST(comparison.holds);
  BOOST_TEST(comparison.steps_compared == 5u);
  BOOST_TEST(outcome.parameters_digest == read_run(a).result->parameters_digest);
}

BOOST_AUTO_TEST_CASE(FILE_5_the_same_run_gives_the_same_content_outside_of_times_and_provenance) {
  run_experiment({.source = toml, .out = a, .command_line = "one"});
  run_experiment({.source = toml, .out = b, .command_line = "two"});
  for (const auto& [step, path] : checkpoint_files(a + "/checkpoints"))
    BOOST_TEST((files_test::bytes_of(path) == files_test::bytes_of(checkpoint_path(b + "/checkpoints", step))));
  RunData one = read_run(a), two = read_run(b);
  BOOST_TEST(one.description.provenance.at("command_line") == "one");
  one.table.seconds = two.table.seconds;
  BOOST_TEST((one.table == two.table));
  BOOST_TEST(one.table.validations() == 2u);
  BOOST_TEST((one.description.configuration == two.description.configuration));
  BOOST_TEST(one.result->parameters_digest == two.result->parameters_digest);
  BOOST_TEST(one.result->test_loss == two.result->test_loss);
}

BOOST_AUTO_TEST_CASE(FILE_7_a_run_is_not_written_into_the_folder_of_another_unless_it_resumes_it) {
  const RunOutcome first = run_experiment({.source = toml, .out = a});
  const auto before = contents(a);
  check_refused([&] { run_experiment({.source = toml, .out = a}); }, "FILE-7", a);
  check_refused([&] { run_experiment({.source = a, .out = a}); }, "FILE-7", a);
  BOOST_TEST((contents(a) == before));
  BOOST_TEST(run_experiment({.source = toml, .out = a, .resume = true}).parameters_digest == first.parameters_digest);
}

BOOST_AUTO_TEST_CASE(RUN_4_the_run_records_its_budget_its_seed_and_every_override) {
  const std::vector<std::string> overrides{"train.steps=9", "experiment.seed=7", "train.steps=3"};
  run_experiment({.source = toml, .overrides = overrides, .out = a, .command_line = "assay run small.toml"});
  const RunData run = read_run(a);
  const ConfigurationText& text = run.description.configuration;
  BOOST_TEST(text.toml == experiment);
  BOOST_TEST(text.overrides == overrides, boost::test_tools::per_element());
  const nlohmann::json resolved = nlohmann::json::parse(text.resolved);
  BOOST_TEST(resolved.at("train.steps") == 3);
  BOOST_TEST(resolved.at("train.epochs") == 0);
  BOOST_TEST(resolved.at("experiment.seed") == 7);
  BOOST_TEST(resolved.at("optimiser.kind") == "adamw", "a default is recorded too");
  BOOST_TEST(run.result->steps == 3u);
  BOOST_TEST(run.description.provenance.at("command_line") == "assay run small.toml");
  const Checkpoint state = load_checkpoint(checkpoint_path(a + "/checkpoints", 3));
  BOOST_TEST((state.configuration == text));
  BOOST_TEST(entry_of<std::uint64_t>(state.train, "seed") == 7u);

  run_experiment({.source = a, .overrides = {"run.threads=1"}, .out = b});
  BOOST_TEST(read_run(b).description.configuration.overrides.size() == 4u);
}

BOOST_AUTO_TEST_CASE(RUN_3_a_run_is_not_repeated_or_resumed_with_other_data) {
  using namespace assay::test;
  for (const char* part : {"train", "t10k"}) {
    write_file(folder / part + "-images-idx3-ubyte", idx_bytes(0x08, {4, 2}, "abcdefgh"));
    write_file(folder / part + "-labels-idx1-ubyte", idx_bytes(0x08, {4}, std::string("\0\1\2\0", 4)));
  }
  write_file(toml, "data = { kind = 'idx', path = '" + folder.path() +
                       "' }\nmodel.layers = [2, 4, 3]\ntrain = { batch = 2, steps = 3 }\n");
  run_experiment({.source = toml, .out = a});
  const auto before = contents(a);
  const std::string name = "train-labels-idx1-ubyte";
  write_file(folder / name, idx_bytes(0x08, {4}, std::string("\0\1\2\1", 4)));
  check_refused([&] { run_experiment({.source = a, .out = b}); }, "RUN-3", a + ": " + name + ": expected SHA-256 ");
  check_refused([&] { run_experiment({.source = a, .resume = true}); }, "RUN-3", name);
  check_refused([&] { run_experiment({.source = toml, .out = a, .resume = true}); }, "RUN-3", name);
  BOOST_TEST((contents(a) == before));
  BOOST_TEST(!std::filesystem::exists(b));
  std::filesystem::rename(folder / name, folder / (name + ".gz"));
  check_refused([&] { run_experiment({.source = a, .out = b}); }, "RUN-3", "found no such file");
}

BOOST_AUTO_TEST_CASE(RUN_5_an_interrupt_ends_the_run_after_its_step_with_a_checkpoint_that_goes_on) {
  const std::vector<std::string> long_run{"train.steps=1000000", "data.validation=0", "checkpoint.every=0"};
  const std::string checkpoints = a + "/checkpoints";
  std::atomic<bool> ended = false;
  std::thread user([&] {
    auto waits = [&](const auto& until) {
      for (int i = 0; i < 20000 && !ended && !until(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    waits([&] { return std::filesystem::exists(a + "/run.h5"); });
    const std::uint64_t before = device_counters(cpu).launches;
    waits([&] { return device_counters(cpu).launches > before + 1000; });  // some steps
    ::kill(::getpid(), SIGINT);
    waits([] { return false; });
    if (!ended) ::kill(::getpid(), SIGINT);  // nothing catches a second one
  });
  const RunOutcome outcome = run_experiment({.source = toml, .overrides = long_run, .out = a});
  ended = true;
  user.join();

  BOOST_TEST(outcome.status == "interrupted");
  BOOST_TEST(outcome.steps > 0u);
  const RunData run = read_run(a);
  BOOST_TEST(run.status == "interrupted");
  BOOST_TEST(run.last_step == outcome.steps);
  BOOST_TEST(run.table.steps() == outcome.steps);
  const LatestCheckpoint latest = latest_checkpoint(checkpoints);
  BOOST_REQUIRE(latest.checkpoint.has_value());
  BOOST_TEST(latest.checkpoint->step == outcome.steps);
  const Configuration configuration = load_configuration(toml, long_run);
  const Datasets data = load_datasets(configuration.data);
  Training whole(configuration, data), resumed(configuration, data);
  for (std::uint64_t step = 0; step < outcome.steps; ++step) whole.advance();
  resumed.restore(*latest.checkpoint);
  test::check_same_step(whole.advance(), resumed.advance(), "after the interrupt");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
