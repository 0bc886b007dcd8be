// Traces: which results they name, in which order, and that looking changes nothing.
#include <boost/test/unit_test.hpp>

#include "autograd/ops.hpp"
#include "checkpoint/tensor_file.hpp"
#include "harness/training.hpp"
#include "kernels/digest.hpp"
#include "support/contract.hpp"
#include "support/folder.hpp"
#include "support/tensors.hpp"
#include "support/training.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Configuration traced(Device device, const std::string& level, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {"run.device=" + to_string(device), "trace.level=" + level};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return parse_configuration(
      "data.kind = 'synthetic'\n"
      "data.synthetic = { samples = 24, features = 5, classes = 3 }\n"
      "model = { layers = [5, 4, 3], activation = 'gelu', dropout = 0.25 }\n"
      "train = { batch = 8, steps = 3, shards = 2, clip_norm = 0.1 }\n",
      "traced", overrides);
}

struct Traced {
  Datasets data;
  Training training;
  explicit Traced(const Configuration& configuration)
      : data(load_datasets(configuration.data)), training(configuration, data) {}
};

const std::vector<std::string> results_of_a_shard = {
    "forward/fc1/linear",          "forward//gelu",          "forward/dropout1/dropout",
    "forward/fc2/linear",          "forward//cross_entropy", "backward//cross_entropy:0",
    "backward/fc2/linear:0",       "backward/fc2/linear:1",  "backward/fc2/linear:2",
    "backward/dropout1/dropout:0", "backward//gelu:0",       "backward/fc1/linear:1",
    "backward/fc1/linear:2"};

}  // namespace

CONTRACT(CMP_2_a_trace_names_every_result_in_the_order_of_the_step) {
  std::vector<std::string> expected;
  for (const char* shard : {"", "shard.1/"}) {
    for (const std::string& name : results_of_a_shard) expected.push_back(shard + name);
    for (const char* parameter : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"})
      expected.push_back(shard + std::string("gradients/") + parameter + "/shard");
  }
  for (const char* parameter : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"})
    expected.push_back(std::string("gradients/") + parameter + "/sum_of_shards");
  Traced one(traced(device, "op"));
  for (int step = 1; step <= 2; ++step) {
    const StepRow row = one.training.advance();
    BOOST_TEST(row.trace_names == expected, boost::test_tools::per_element());
    BOOST_TEST(row.trace.size() == expected.size());
  }
}

CONTRACT(CMP_2_the_results_of_modules_are_those_with_which_the_computation_leaves_them) {
  Traced ops(traced(device, "op")), modules(traced(device, "module"));
  const StepRow of_ops = ops.training.advance(), of_modules = modules.training.advance();
  const std::vector<std::string> first_shard = {"forward/fc1/linear",       "forward//gelu",
                                                "forward/dropout1/dropout", "forward/fc2/linear",
                                                "forward//cross_entropy",   "backward//cross_entropy:0",
                                                "backward/fc2/linear:0",    "backward/dropout1/dropout:0",
                                                "backward//gelu:0"};
  BOOST_REQUIRE(of_modules.trace_names.size() > first_shard.size());
  for (std::size_t i = 0; i < of_modules.trace_names.size(); ++i) {
    const std::string& name = of_modules.trace_names[i];
    if (i < first_shard.size()) BOOST_TEST(name == first_shard[i]);
    const auto same = std::find(of_ops.trace_names.begin(), of_ops.trace_names.end(), name);
    BOOST_REQUIRE_MESSAGE(same != of_ops.trace_names.end(), name);
    BOOST_TEST(of_modules.trace[i] == of_ops.trace[static_cast<std::size_t>(same - of_ops.trace_names.begin())], name);
  }
}

CONTRACT(NUM_8_a_trace_has_the_digests_of_the_cpu_and_changes_no_bit) {
  Traced here(traced(device, "op")), on_cpu(traced(cpu, "op")), untraced(traced(device, "step"));
  for (int step = 1; step <= 3; ++step) {
    const StepRow row = here.training.advance();
    BOOST_TEST(row.trace == on_cpu.training.advance().trace, boost::test_tools::per_element());
    const StepRow plain = untraced.training.advance();
    BOOST_TEST(plain.trace.empty());
    check_same_step(row, plain, "traced and not");
  }
}

CONTRACT(CMP_2_tensors_that_a_trace_keeps_have_its_digests_in_a_file_of_their_own) {
  const std::vector<std::string> kept = {"forward//cross_entropy", "shard.1/backward/fc2/linear:1"};
  Traced one(traced(device, "op", {"trace.tensors=['" + kept[0] + "', '" + kept[1] + "']"}));
  const StepRow row = one.training.advance();
  const Folder folder;
  const std::string path = tensor_path(folder.path(), row.step);
  save_tensors(path, row.step, row.tensors);
  const std::vector<NamedArray> read = load_tensors(path);
  BOOST_REQUIRE(read.size() == 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    BOOST_TEST(read[i].name == kept[i]);
    const auto place = std::find(row.trace_names.begin(), row.trace_names.end(), kept[i]) - row.trace_names.begin();
    const Tensor tensor = Tensor::from(read[i].array.values<float>(), Shape(read[i].array.shape));
    BOOST_TEST(kernels::digest(tensor) == row.trace[static_cast<std::size_t>(place)]);
  }
}

CONTRACT(RUN_1_a_result_that_no_step_has_is_not_kept) {
  Traced one(traced(device, "op", {"trace.tensors=['forward/fc9/linear']"}));
  check_refused([&] { one.training.advance(); }, "RUN-1", "found \"forward/fc9/linear\"");
  check_refused([&] { one.training.advance(); }, "RUN-1", "forward/fc1/linear, forward//gelu");
}

CONTRACT(CMP_2_an_observer_is_told_every_result_and_what_the_tables_hold) {
  Traced one(traced(device, "step"));
  std::map<std::string, std::uint64_t> told;
  one.training.observe([&](const std::string& name, const Tensor& value) { told[name] = kernels::digest(value); });
  const StepRow row = one.training.advance();
  BOOST_TEST(told.count("shard.1/backward/fc1/linear:1") == 1u);
  BOOST_TEST(told.at("gradients/fc1.weight/table") == row.gradients[0]);
  BOOST_TEST(told.at("parameters/fc2.bias/table") == row.parameters[3]);
  BOOST_TEST(told.at("optimiser/first_moment.fc1.weight/table") == row.optimiser[0]);
}

BOOST_AUTO_TEST_SUITE(trace_names)

BOOST_AUTO_TEST_CASE(CMP_2_a_name_is_read_as_it_was_written) {
  for (const std::string text : {"forward/fc1/linear", "backward/blocks.0.attention/linear:2", "forward//gelu#3",
                                 "shard.12/backward//accumulate:0#2", "gradients/fc1.weight/sum_of_shards"})
    BOOST_TEST(TraceName::parse(text).text() == text);
  const TraceName name = TraceName::parse("shard.3/backward/blocks.0/linear:2#4");
  BOOST_TEST(name.phase == "backward");
  BOOST_TEST(name.module == "blocks.0");
  BOOST_TEST(name.operation == "linear");
  BOOST_TEST(name.operand == 2);
  BOOST_TEST(name.shard == 3u);
  BOOST_TEST(name.occurrence == 4u);
  for (const std::string text : {"", "forward", "forward/fc1", "a/b/c/d", "forward/fc1/linear:x", "/fc1/linear"})
    check_refused([&] { TraceName::parse(text); }, "FILE-3", "found \"" + text + "\"");
}

BOOST_AUTO_TEST_SUITE_END()
