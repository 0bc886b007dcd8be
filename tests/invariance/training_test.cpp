// A whole training has the same bits on any number of threads, in any cut into shards, and when it is resumed.
#include "harness/training.hpp"

#include "device/cpu/thread_pool.hpp"
#include "device/profile.hpp"
#include "support/contract.hpp"
#include "support/tensors.hpp"
#include "support/training.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Configuration small(const std::vector<std::string>& overrides) {
  return parse_configuration(R"(
    data = { kind = "synthetic", validation = 20, synthetic = { samples = 150, features = 12, classes = 4 } }
    model = { layers = [12, 17, 9, 4], dropout = 0.25 }
    optimiser = { learning_rate = 0.01, weight_decay = 0.01 }
    schedule = { kind = "one_cycle" }
    train = { batch = 32, epochs = 4, clip_norm = 1.5 }
  )",
                             "test", overrides);
}

/// Every step of a training; restored from a checkpoint before each of `resume_before`.
std::vector<StepRow> rows_of(const Configuration& configuration, const std::vector<std::uint64_t>& resume_before = {}) {
  Datasets data = load_datasets(configuration.data);
  auto training = std::make_unique<Training>(configuration, data);
  std::vector<StepRow> rows;
  while (training->step() < training->total_steps()) {
    if (std::find(resume_before.begin(), resume_before.end(), training->step() + 1) != resume_before.end()) {
      Checkpoint state = training->checkpoint();
      training = std::make_unique<Training>(configuration, data);
      training->restore(state);
    }
    rows.push_back(training->advance());
  }
  return rows;
}

void check_same(const std::vector<StepRow>& a, const std::vector<StepRow>& b, const std::string& what) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) check_same_step(a[i], b[i], what);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(training_invariance)

CONTRACT(NUM_1_any_number_of_threads_trains_to_the_same_bits) {
  const Configuration configuration = small({"run.device=" + to_string(device)});
  auto one = rows_of(configuration);
  for (int count : {2, 3, 7}) {
    set_threads(count);
    check_same(one, rows_of(configuration), std::to_string(count) + " threads");
  }
  set_threads(1);
}

CONTRACT(NUM_7_a_training_resumed_before_any_step_has_the_bits_of_the_whole) {
  for (std::vector<std::string> options : std::vector<std::vector<std::string>>{
           {},
           {"optimiser.kind=sgd", "optimiser.momentum=0.9", "optimiser.nesterov=true"},
           {"train.shards=4", "loss.label_smoothing=0.1"}}) {
    options.push_back("run.device=" + to_string(device));
    auto whole = rows_of(small(options));
    std::vector<std::uint64_t> every;
    for (std::uint64_t step = 1; step <= whole.size(); ++step) every.push_back(step);
    check_same(whole, rows_of(small(options), {3}), "resumed once");
    check_same(whole, rows_of(small(options), every), "resumed before every step");
  }
}

CONTRACT(NUM_11_the_masks_and_ids_do_not_depend_on_the_shards) {
  const std::string there = "run.device=" + to_string(device);
  auto whole = rows_of(small({there, "train.steps=1"})),
       cut = rows_of(small({there, "train.steps=1", "train.shards=8"}));
  BOOST_TEST(whole[0].masks == cut[0].masks);
  BOOST_TEST(whole[0].ids_digest == cut[0].ids_digest);
}

BOOST_AUTO_TEST_CASE(OPT_3_a_step_that_is_not_finite_leaves_the_training_as_it_was) {
  Configuration configuration = small({"optimiser.kind=sgd", "train.clip_norm=0", "optimiser.learning_rate=0.1"});
  Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  training.advance();
  Checkpoint state = training.checkpoint();
  std::vector<float> huge = state.parameters[0].value.values<float>();
  std::fill(huge.begin(), huge.end(), 3e38f);
  for (StoredParameter& parameter : state.parameters)
    if (parameter.name == "fc1.weight")
      parameter.value = Array::of(std::span<const float>(huge), parameter.value.shape);
  training.restore(state);
  std::string before = training.parameters_digest();
  BOOST_CHECK_THROW(training.advance(), Error);
  BOOST_TEST(training.parameters_digest() == before);
  BOOST_TEST(training.step() == 1u);
}

BOOST_AUTO_TEST_CASE(RES_10_after_the_second_step_a_training_asks_for_no_more_memory) {
  Configuration configuration = small({"train.shards=2"});
  Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  while (training.step() < training.steps_per_epoch()) training.advance();  // its last batch has another size
  DeviceCounters before = device_counters(cpu);
  while (training.step() < training.total_steps()) {
    training.advance();
    DeviceCounters now = device_counters(cpu);
    BOOST_TEST(now.requests == before.requests, "step " << training.step() << " asked the operating system");
    BOOST_TEST(now.live_bytes == before.live_bytes, "step " << training.step() << " holds more than the one before");
  }
}

BOOST_AUTO_TEST_CASE(a_fast_training_is_near_the_exact_one_and_leaves_the_process_exact) {
  std::vector<std::string> options{"train.steps=10", "model.activation=sigmoid"}, with_fast = options;
  with_fast.push_back("run.numerics=fast");
  auto exact = rows_of(small(options)), fast = rows_of(small(with_fast));
  BOOST_TEST(to_string(profile()) == "exact");
  for (std::size_t i = 0; i < exact.size(); ++i) {
    BOOST_TEST(exact[i].ids_digest == fast[i].ids_digest);
    BOOST_TEST(exact[i].masks == fast[i].masks);
    double difference = exact[i].loss > fast[i].loss ? exact[i].loss - fast[i].loss : fast[i].loss - exact[i].loss;
    BOOST_TEST(difference <= 1e-5 * exact[i].loss, "step " << i + 1 << ": " << exact[i].loss << ", " << fast[i].loss);
  }
  BOOST_TEST(exact.back().parameters != fast.back().parameters);
  check_same(exact, rows_of(small(options)), "exact after fast");
}

BOOST_AUTO_TEST_CASE(a_fast_step_that_fails_leaves_the_process_exact) {
  Configuration configuration = small({"run.numerics=fast", "optimiser.kind=sgd", "optimiser.learning_rate=1e30"});
  Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  BOOST_CHECK_THROW(while (training.step() < training.total_steps()) training.advance(), Error);
  BOOST_TEST(to_string(profile()) == "exact");
  training.evaluate(data.validation);
  BOOST_TEST(to_string(profile()) == "exact");
}

BOOST_AUTO_TEST_CASE(NUM_8_a_training_on_the_simulated_device_has_the_bits_of_the_cpu) {
  for (const char* optimiser : {"optimiser.kind=adamw", "optimiser.kind=sgd"}) {
    std::vector<std::string> here{optimiser, "train.shards=2"}, there = here;
    there.push_back("run.device=simulated");
    check_same(rows_of(small(here)), rows_of(small(there), {3, 7}), "simulated, resumed twice");
  }
}

BOOST_AUTO_TEST_CASE(CMP_5_the_first_steps_follow_the_float64_reference) {
  Configuration configuration = small({"train.steps=10"}), oracle = small({"train.steps=10", "run.device=reference"});
  Datasets data = load_datasets(configuration.data);
  Training found(configuration, data), expected(oracle, data);
  for (int step = 0; step < 10; ++step) {
    StepRow a = found.advance(), b = expected.advance();
    BOOST_TEST(a.ids_digest == b.ids_digest);
    BOOST_TEST(a.masks == b.masks);
    double difference = a.loss > b.loss ? a.loss - b.loss : b.loss - a.loss;
    BOOST_TEST(difference <= 1e-5 * b.loss,
               "step " << a.step << ": loss " << a.loss << ", the reference has " << b.loss);
  }
}

BOOST_AUTO_TEST_SUITE_END()
