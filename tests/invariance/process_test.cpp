// The bits of another process: started again, on another instruction set, built by another compiler.
#include <fstream>

#include "device/cpu/isa.hpp"
#include "device/cpu/thread_pool.hpp"
#include "harness/selftest.hpp"
#include "harness/training.hpp"
#include "support/contract.hpp"
#include "support/own_program.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

// Of every build, everywhere. A change of the numerics (reference/numerics.md) or of the battery changes them and says
// so in its commit; nothing else may.
const std::string golden_selftest = "972207a1e2ee0edd0762da257705dd2bed6e04c00826221e1bcb0cfa708d1661";
const std::string golden_parameters = "60ddf70b21ef44017f4d1715413c3bdfb01e23942ae0d54b5f839e83c53fee04";

/// All parameters after a small training with dropout, shards, clipping and a schedule.
std::string trained_parameters(Device device) {
  const Configuration configuration = parse_configuration(R"(
    data = { kind = "synthetic", validation = 20, synthetic = { samples = 150, features = 12, classes = 4 } }
    model = { layers = [12, 17, 9, 4], dropout = 0.25, activation = "gelu" }
    optimiser = { learning_rate = 0.01, weight_decay = 0.01 }
    schedule = { kind = "one_cycle" }
    train = { batch = 32, steps = 20, clip_norm = 1.5, shards = 4 }
  )",
                                                          "test", {"run.device=" + to_string(device)});
  const Datasets data = load_datasets(configuration.data);
  Training training(configuration, data);
  while (training.step() < training.total_steps()) training.advance();
  return training.parameters_digest();
}

std::string both_digests(Device device) {
  return selftest_digest(run_selftest(device)) + "\n" + trained_parameters(device) + "\n";
}

}  // namespace

// What the cases below start in another process; the digests are messages, which the log leaves out by itself.
BOOST_AUTO_TEST_SUITE(another_process)
BOOST_AUTO_TEST_CASE(prints_the_digests_of_cpu) { BOOST_TEST_MESSAGE(both_digests(cpu)); }
BOOST_AUTO_TEST_CASE(prints_the_digests_of_simulated) { BOOST_TEST_MESSAGE(both_digests(simulated)); }
BOOST_AUTO_TEST_SUITE_END()

CONTRACT(NUM_2_processes_on_every_instruction_set_print_the_same_digests) {
  const std::string here = both_digests(device), name = "another_process/prints_the_digests_of_" + to_string(device);
  for (Isa other : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (other <= isa())
      BOOST_TEST(printed_by(name, "ASSAY_ISA=" + to_string(other)).find(here) != std::string::npos,
                 "ASSAY_ISA=" << to_string(other));
}

BOOST_AUTO_TEST_CASE(NUM_2_an_instruction_set_that_is_unknown_is_refused_and_nothing_is_computed) {
  const std::string text = printed_by("another_process/prints_the_digests_of_cpu", "ASSAY_ISA=mmx");
  BOOST_TEST(text.find("NUM-2: ASSAY_ISA: expected baseline, avx2 or avx512, found \"mmx\"") != std::string::npos,
             text);
}

BOOST_AUTO_TEST_CASE(NUM_1_a_number_of_threads_in_the_environment_that_is_none_is_refused) {
  for (const char* wrong : {"two", "0", "3x"}) {
    const std::string text =
        printed_by("another_process/prints_the_digests_of_cpu", std::string("ASSAY_THREADS=") + wrong);
    BOOST_TEST(
        text.find("NUM-1: ASSAY_THREADS: expected 1 to 1024 threads, found " + std::string(wrong)) != std::string::npos,
        text);
  }
}

CONTRACT(NUM_5_three_processes_have_the_same_digests) {
  const std::string name = "another_process/prints_the_digests_of_" + to_string(device);
  const std::string first = printed_by(name, ""), second = printed_by(name, "ASSAY_THREADS=2");
  BOOST_TEST(first.find(both_digests(device)) != std::string::npos, first);
  BOOST_TEST(first == second);
}

CONTRACT(NUM_6_a_training_ends_with_the_committed_parameters_in_every_build) {
  BOOST_TEST(trained_parameters(device) == golden_parameters);
}

CONTRACT(NUM_14_the_self_test_has_the_committed_digest) {
  BOOST_TEST(selftest_digest(run_selftest(device)) == golden_selftest);
}

CONTRACT(NUM_14_the_self_test_has_one_digest_over_threads) {
  for (int count : {2, 3, 7}) {
    set_threads(count);
    BOOST_TEST(selftest_digest(run_selftest(device)) == golden_selftest, count << " threads");
  }
  set_threads(1);
}

BOOST_AUTO_TEST_CASE(NUM_14_the_README_prints_the_committed_digest) {
  std::ifstream file(ASSAY_SOURCE_ROOT "/README.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  BOOST_TEST(text.find("`" + golden_selftest + "`") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(NUM_14_the_digest_moves_with_each_of_its_parts) {
  std::vector<SelftestPart> parts = run_selftest();
  for (SelftestPart& part : parts) {
    ++part.digest;
    BOOST_TEST(selftest_digest(parts) != golden_selftest, part.name);
    --part.digest;
  }
  BOOST_TEST(selftest_digest(parts) == golden_selftest);
}
