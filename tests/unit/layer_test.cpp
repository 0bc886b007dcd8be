// Layers and initialisers.
#include <map>

#include "autograd/ops.hpp"
#include "device/cpu/thread_pool.hpp"
#include "nn/dropout.hpp"
#include "nn/initialisers.hpp"
#include "nn/linear.hpp"
#include "nn/shard_scope.hpp"
#include "numerics/digest.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

BOOST_AUTO_TEST_SUITE(layers)

BOOST_AUTO_TEST_CASE(LAYER_1_linear_keeps_leading_dimensions_and_refuses_wrong_widths) {
  Random random(1);
  Linear layer(5, 3, random["a"]);
  BOOST_TEST((layer.forward(drawn({2, 4, 5}, 1)).shape() == Shape{2, 4, 3}));
  BOOST_TEST((layer.forward(drawn({5}, 1)).shape() == Shape{3}));
  check_same_bits(layer.forward(drawn({2, 4, 5}, 1)).value().reshape({8, 3}),
                  layer.forward(drawn({2, 4, 5}, 1).reshape({8, 5})).value(), "flat");
  check_refused([&] { layer.forward(drawn({2, 4}, 1)); }, "LAYER-1", "[2, 4]");
  check_refused([&] { Linear(0, 3, random["b"]); }, "LAYER-1");
  Linear bare(5, 3, random["c"], false);
  BOOST_TEST(bare.parameters().size() == 1u);
}

BOOST_AUTO_TEST_CASE(LAYER_1_a_forward_allocates_its_result_and_nothing_else) {
  Random random(1);
  Linear bare(5, 3, random["a"], false), layer(5, 3, random["b"]);
  Tensor x = drawn({2, 7, 5}, 1);
  for (const Linear* linear : {&bare, &layer})
    for (bool relu : {false, true}) {
      std::uint64_t before = device_counters(cpu).allocations;
      Variable y = linear->forward(x, {.relu = relu});
      BOOST_TEST(device_counters(cpu).allocations - before == 1u);
    }
}

BOOST_AUTO_TEST_CASE(LAYER_2_initialisers_have_their_stated_moments) {
  Random random(3);
  auto moments = [](const Tensor& tensor) {
    std::vector<double> values = doubles(tensor);
    double mean = 0, square = 0;
    for (double value : values) mean += value / static_cast<double>(values.size());
    for (double value : values) square += (value - mean) * (value - mean) / static_cast<double>(values.size());
    return std::pair(mean, square);
  };
  auto check = [&](const Tensor& tensor, double variance, const char* name) {
    auto [mean, square] = moments(tensor);
    BOOST_TEST(mean * mean < variance * 1e-5, name << ": mean " << mean);
    BOOST_TEST(square > variance * 0.99, name << ": variance " << square << ", expected " << variance);
    BOOST_TEST(square < variance * 1.01, name << ": variance " << square << ", expected " << variance);
  };
  Shape shape{500, 2000};
  check(he_normal(shape, random["he"]), 2.0 / 2000, "he_normal");
  check(xavier_normal(shape, random["xn"]), 2.0 / 2500, "xavier_normal");
  check(xavier_uniform(shape, random["xu"]), 2.0 / 2500, "xavier_uniform");
  check(uniform(shape, 3, random["u"]), 3.0, "uniform");
  check(normal(shape, 0.5, random["n"]), 0.25, "normal");
  check_refused([&] { he_normal({3}, random["bad"]); }, "LAYER-2");
}

BOOST_AUTO_TEST_CASE(MODE_2_and_3_dropout_keeps_the_mean_and_draws_nothing_in_evaluation) {
  Random random(1);
  Dropout drop(0.25, random["drop"]);
  Tensor x = Tensor::full({1000, 100}, 1);
  Variable y = drop.forward(x);
  double mean = sum(y).value().item() / 1e5;
  BOOST_TEST(mean > 0.99);
  BOOST_TEST(mean < 1.01);
  std::uint64_t draws = random.streams()[0]->draws();
  {
    EvalScope evaluation;
    check_same_bits(x, drop.forward(x).value(), "dropout in evaluation");
  }
  BOOST_TEST(random.streams()[0]->draws() == draws);
  check_refused([&] { Dropout(1, random["one"]); }, "MODE-3");
  check_refused([&] { Dropout(-0.1, random["less"]); }, "MODE-3");
}

BOOST_AUTO_TEST_CASE(NUM_11_shards_of_a_batch_get_the_masks_of_the_whole) {
  Random one(5), two(5);
  Dropout whole(0.5, one["drop"]), cut(0.5, two["drop"]);
  Tensor x = drawn({10, 7}, 1, 1, 2);
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

BOOST_AUTO_TEST_SUITE_END()
