// Contract of training and evaluation.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "autograd/ops.hpp"
#include "device/cpu/thread_pool.hpp"
#include "models/mlp.hpp"
#include "nn/dropout.hpp"
#include "nn/shard_scope.hpp"
#include "support/contract.hpp"
#include "support/optimisers.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// What all the workers of one parallel loop see.
struct Seen {
  int training = 0, recording = 0, calls = 0;
};
Seen seen_by_workers(const Variable& leaf) {
  std::atomic<int> trained = 0, recorded = 0, calls = 0;
  parallel_for(7, 1, [&](std::int64_t, std::int64_t) {
    ++calls;
    trained += training();
    Variable result =
        custom_gradient("same", leaf.value(), {leaf}, [](const Tensor& g, const auto&) { return std::vector{g}; });
    recorded += result.requires_gradient();
  });
  return {trained, recorded, calls};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(modes)

BOOST_AUTO_TEST_CASE(MODE_1_evaluation_nests_ends_with_its_scope_and_on_exceptions_and_is_per_thread) {
  BOOST_TEST(training());
  {
    EvalScope outer;
    {
      EvalScope inner;
      BOOST_TEST(!training());
    }
    BOOST_TEST(!training());
    bool other = false;
    std::thread([&] { other = training(); }).join();
    BOOST_TEST(other, "another thread trains");
    BOOST_TEST(exp(Variable::leaf(Tensor::zeros({1}))).requires_gradient(), "evaluating still records");
  }
  BOOST_TEST(training());
  try {
    EvalScope scope;
    throw std::runtime_error("in evaluation");
  } catch (const std::runtime_error&) {
  }
  BOOST_TEST(training());
}

BOOST_AUTO_TEST_CASE(MODE_1_workers_of_a_parallel_loop_have_the_mode_of_their_caller) {
  Variable leaf = Variable::leaf(Tensor::zeros({2}));
  for (int count : {1, 2, 7}) {
    set_threads(count);
    auto check = [&](bool trains, bool records) {
      Seen seen = seen_by_workers(leaf);
      BOOST_TEST(seen.calls == count);
      BOOST_TEST(seen.training == (trains ? count : 0), count << " threads");
      BOOST_TEST(seen.recording == (records ? count : 0), count << " threads");
    };
    check(true, true);
    {
      EvalScope evaluation;
      check(false, true);
      {
        NoGradScope no_gradient;
        check(false, false);
      }
      check(false, true);
    }
    check(true, true);
    parallel_for(7, 1, [](std::int64_t, std::int64_t) { EvalScope inside; });
    check(true, true);
  }
  set_threads(1);
}

BOOST_AUTO_TEST_SUITE_END()

CONTRACT(MODE_2_evaluating_draws_nothing_and_changes_nothing) {
  Random random(1);
  Mlp model({6, 5, 3}, Activation::relu, 0.5, random);
  model.to(device);
  ParameterList list = model.parameters();
  Tensor x = drawn({8, 6}, 1, -1, 1, device);
  sum(model.forward(x)).backward();
  std::vector<std::uint64_t> draws;
  auto count_draws = [&] {
    std::vector<std::uint64_t> all;
    for (const auto& stream : random.streams()) all.push_back(stream->draws());
    return all;
  };
  draws = count_draws();
  Facts before = facts_of(list);
  Tensor first;
  for (int pass = 0; pass < 2; ++pass) {
    EvalScope evaluation;
    NoGradScope no_gradient;
    Tensor y = model.forward(x).value();
    if (pass == 0) first = y;
    check_same_bits(first, y, "a second evaluation");
  }
  BOOST_TEST(count_draws() == draws);
  BOOST_TEST(before == facts_of(list));
  // The next training step is the one that it would have been.
  Random other(1);
  Mlp twin({6, 5, 3}, Activation::relu, 0.5, other);
  twin.to(device);
  twin.forward(x);
  check_same_bits(twin.forward(x).value(), model.forward(x).value(), "the forward after an evaluation");
}

CONTRACT(MODE_3_dropout_keeps_the_mean) {
  for (double p : {0.25, 0.9}) {
    Random random(1);
    Dropout drop(p, random["drop"]);
    double mean = sum(drop.forward(Tensor::full({1000, 100}, 1, device))).value().item() / 1e5;
    BOOST_TEST(mean > 0.97, "p " << p << ": mean " << mean);
    BOOST_TEST(mean < 1.03, "p " << p << ": mean " << mean);
  }
}

CONTRACT(MODE_3_dropout_returns_its_input_in_evaluation_and_at_p_0) {
  Random random(1);
  Dropout drop(0.25, random["drop"]), none(0, random["none"]);
  Tensor x = drawn({100, 10}, 1, -1, 1, device);
  check_same_bits(x, none.forward(x).value(), "p = 0");
  BOOST_TEST(random.streams()[1]->draws() == 0u);
  EvalScope evaluation;
  check_same_bits(x, drop.forward(x).value(), "evaluation");
}

CONTRACT(MODE_3_dropout_refuses_p_outside_0_to_1) {
  Random random(1);
  for (double p : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
    check_refused([&] { Dropout(p, random["drop"]); }, "MODE-3", "p in [0, 1)");
  BOOST_TEST(random.streams().empty());
}

CONTRACT(NUM_11_shards_of_a_batch_get_the_masks_of_the_whole) {
  Random one(5), two(5);
  Dropout whole(0.5, one["drop"]), cut(0.5, two["drop"]);
  Tensor x = drawn({10, 7}, 1, 1, 2, device);
  std::map<std::string, std::uint64_t> whole_digests, cut_digests;
  Tensor expected;
  {
    ShardScope scope(0, &whole_digests);
    expected = whole.forward(x).value();
  }
  for (std::int64_t begin : {0, 4}) {
    two.streams()[0]->set_draws(0);
    ShardScope scope(begin, &cut_digests);
    std::int64_t end = begin == 0 ? 4 : 10;
    check_same_bits(expected.slice(0, begin, end), cut.forward(x.slice(0, begin, end)).value(),
                    "rows from " + std::to_string(begin));
  }
  BOOST_TEST(whole_digests.at("drop") == cut_digests.at("drop"));
}
