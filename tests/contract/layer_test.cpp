// Contract of layers and initialisers.
#include "autograd/ops.hpp"
#include "kernels/digest.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/initialisers.hpp"
#include "nn/layer_norm.hpp"
#include "nn/linear.hpp"
#include "support/contract.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

std::string hex(std::uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

/// "weight [2, 3], bias [3]".
std::string names_and_shapes(const Module& module) {
  std::string text;
  for (const NamedParameter& entry : module.parameters())
    text += (text.empty() ? "" : ", ") + entry.name + " " + to_string(entry.parameter->value().shape());
  return text;
}

}  // namespace

CONTRACT(LAYER_1_linear_is_x_times_the_transposed_weight_plus_bias_over_leading_dimensions) {
  Random random(1);
  Linear layer(5, 3, random["a"]);
  layer.to(device);
  ParameterList list = layer.parameters();
  BOOST_REQUIRE(list.size() == 2u);
  BOOST_TEST(list[0].name == "weight");
  BOOST_TEST(list[1].name == "bias");
  BOOST_TEST((list[0].parameter->value().shape() == Shape{3, 5}));
  BOOST_TEST((list[1].parameter->value().shape() == Shape{3}));
  list[0].parameter->set_value(whole_numbers({3, 5}, 1, 9, device));
  list[1].parameter->set_value(whole_numbers({3}, 2, 9, device));
  for (const Shape& shape : {Shape{5}, {2, 5}, {2, 4, 5}, {0, 5}}) {
    Tensor x = whole_numbers(shape, 3, 9, device), y = layer.forward(x).value();
    BOOST_TEST((y.shape() == shape.with(-1, 3)));
    auto in = x.read<float>(), w = list[0].parameter->value().read<float>(),
         b = list[1].parameter->value().read<float>(), out = y.read<float>();
    for (std::int64_t i = 0; i < out.size(); ++i) {
      float sum = b[i % 3];
      for (std::int64_t k = 0; k < 5; ++k) sum += in[i / 3 * 5 + k] * w[i % 3 * 5 + k];
      BOOST_TEST(out[i] == sum);
    }
  }
}

CONTRACT(LAYER_1_a_wrong_last_extent_and_a_width_of_0_are_refused) {
  Random random(1);
  Linear layer(5, 3, random["a"]);
  layer.to(device);
  check_refused([&] { layer.forward(drawn({2, 4}, 1, -1, 1, device)); }, "LAYER-1", "[2, 4]");
  check_refused([&] { layer.forward(drawn({}, 1, -1, 1, device)); }, "LAYER-1", "[]");
  check_refused([&] { Linear(0, 3, random["b"]); }, "LAYER-1", "0 in, 3 out");
  check_refused([&] { Linear(3, 0, random["c"]); }, "LAYER-1", "3 in, 0 out");
}

CONTRACT(LAYER_1_without_a_bias_only_the_weight_is_listed) {
  Random random(1);
  Linear bare(5, 3, random["a"], false), layer(5, 3, random["b"]);
  BOOST_REQUIRE(bare.parameters().size() == 1u);
  BOOST_TEST(bare.parameters()[0].name == "weight");
  bare.to(device);
  layer.to(device);
  layer.parameters()[0].parameter->set_value(bare.parameters()[0].parameter->value());
  Tensor x = drawn({4, 5}, 1, -1, 1, device);
  check_same_bits(layer.forward(x).value(), bare.forward(x).value(), "a bias of zeros");
}

CONTRACT(LAYER_1_a_forward_allocates_its_result_and_nothing_else) {
  Random random(1);
  Linear bare(5, 3, random["a"], false), layer(5, 3, random["b"]);
  bare.to(device);
  layer.to(device);
  Tensor x = drawn({2, 7, 5}, 1, -1, 1, device);
  for (const Linear* linear : {&bare, &layer})
    for (bool relu : {false, true}) {
      DeviceCounters before = device_counters(device);
      Variable y = linear->forward(x, {.relu = relu});
      BOOST_TEST(device_counters(device).allocations - before.allocations == 1u);
    }
}

CONTRACT(LAYER_2_initialisers_have_their_stated_moments) {
  Random random(3);
  auto check = [&](const Tensor& drawn, double variance, const char* name) {
    std::vector<double> values = doubles(drawn.to(device));
    double found_mean = 0, found = 0;
    for (double value : values) found_mean += value / static_cast<double>(values.size());
    for (double value : values)
      found += (value - found_mean) * (value - found_mean) / static_cast<double>(values.size());
    BOOST_TEST(found_mean * found_mean <= variance * 1e-5, name << ": mean " << found_mean);
    BOOST_TEST(found >= variance * 0.99, name << ": variance " << found << ", expected " << variance);
    BOOST_TEST(found <= variance * 1.01, name << ": variance " << found << ", expected " << variance);
  };
  Shape shape{500, 2000};
  check(he_normal(shape, random["he"]), 2.0 / 2000, "he_normal");
  check(xavier_normal(shape, random["xn"]), 2.0 / 2500, "xavier_normal");
  check(xavier_uniform(shape, random["xu"]), 2.0 / 2500, "xavier_uniform");
  check(uniform(shape, 3, random["u"]), 3.0, "uniform");
  check(normal(shape, 0.5, random["n"]), 0.25, "normal");
  for (double value : doubles(Tensor::full(shape, 0.1).to(device))) BOOST_REQUIRE(value == 0.1f);
  auto limits = uniform({1000}, 3, random["limits"]).read<float>();
  for (float value : limits) BOOST_TEST((value >= -3 && value < 3));
}

// The digests are those of seed 7 and the stream named like the initialiser; reference/fixtures/initialisers.py
// computes them from the definitions alone.
CONTRACT(LAYER_2_initialisers_have_their_golden_digests) {
  Random random(7);
  auto check = [&](const Tensor& drawn, const std::string& golden, const char* name) {
    BOOST_TEST(hex(kernels::digest(drawn.to(device))) == golden, name << ": " << hex(kernels::digest(drawn)));
  };
  const Shape shape{48, 70};
  check(he_normal(shape, random["he_normal"]), "2256a48c39bb1fd4", "he_normal");
  check(xavier_normal(shape, random["xavier_normal"]), "12176256d832d277", "xavier_normal");
  check(xavier_uniform(shape, random["xavier_uniform"]), "079f05b34d529783", "xavier_uniform");
  check(uniform(shape, 0.3, random["uniform"]), "70618a76fd7e345f", "uniform");
  check(normal(shape, 0.02, random["normal"]), "a403c4cbb71d79d5", "normal");
  check(Tensor::full(shape, 0.1), "12a009098ca79a24", "constant");
}

CONTRACT(LAYER_2_an_initialiser_of_a_matrix_refuses_other_shapes) {
  Random random(3);
  for (const Shape& shape : {Shape{3}, {2, 3, 4}, {0, 3}, {3, 0}, {}}) {
    check_refused([&] { he_normal(shape, random["he"]); }, "LAYER-2", "he_normal");
    check_refused([&] { xavier_normal(shape, random["xn"]); }, "LAYER-2", "xavier_normal");
    check_refused([&] { xavier_uniform(shape, random["xu"]); }, "LAYER-2", "xavier_uniform");
  }
  BOOST_TEST(random.streams().empty(), "a refused initialiser opens no stream");
}

CONTRACT(LAYER_2_linear_starts_as_he_normal_with_a_bias_of_zeros) {
  Random random(5), same(5);
  Linear layer(70, 48, random["fc"]);
  layer.to(device);
  check_same_bits(he_normal({48, 70}, same["fc"]["weight"]), layer.parameters()[0].parameter->value(), "weight");
  check_same_bits(Tensor::zeros({48}, device), layer.parameters()[1].parameter->value(), "bias");
}

CONTRACT(LAYER_3_the_mean_of_cross_entropy_is_over_the_scored_rows) {
  Tensor logits = drawn({5, 3}, 1, -2, 2, device);
  auto labels = [&](std::vector<std::int32_t> values) { return Tensor::from(values, {5}, device); };
  double all = 0;
  for (std::int64_t row = 0; row < 5; ++row) {
    std::vector<std::int32_t> one(5, -100);
    one[static_cast<std::size_t>(row)] = 1;
    double loss = cross_entropy(logits, labels(one)).value().item();
    all += loss;
    BOOST_TEST(cross_entropy(logits, labels(one), {.count = 4}).value().item() == loss / 4);
  }
  double mean = cross_entropy(logits, labels({1, 1, 1, 1, 1})).value().item();
  BOOST_TEST((mean - all / 5) * (mean - all / 5) < 1e-12);
}

// The digest is that of seed 7; reference/fixtures/initialisers.py computes it from the definitions alone.
CONTRACT(LAYER_3_an_embedding_starts_normal_and_gives_the_rows_of_its_table) {
  Random random(7);
  Embedding layer(48, 70, random["tokens"]);
  BOOST_TEST(names_and_shapes(layer) == "weight [48, 70]");
  layer.to(device);
  const Tensor& weight = layer.parameters()[0].parameter->value();
  BOOST_TEST(hex(kernels::digest(weight)) == "719476023e433a5d", hex(kernels::digest(weight)));
  const Tensor y = layer.forward(Tensor::from<std::int32_t>({47, 0}, {1, 2}, device)).value();
  check_same_bits(weight.slice(0, 47, 48), y.slice(1, 0, 1).reshape({1, 70}), "row 47");
  check_same_bits(weight.slice(0, 0, 1), y.slice(1, 1, 2).reshape({1, 70}), "row 0");
  check_refused(
      [&] {
        layer.forward(Tensor::from<std::int32_t>({3, 48}, {2}, device));
      },
      "LAYER-3", "an id from 0 to 47 at element 1, found 48");
  check_refused([&] { Embedding(0, 3, random["a"]); }, "LAYER-3", "Embedding: expected at least 1 row and 1 column");
  check_refused([&] { Embedding(3, 0, random["b"]); }, "LAYER-3", "found 3 rows of 0");
}

CONTRACT(LAYER_3_a_layer_norm_starts_with_scale_1_and_bias_0_and_is_the_operation) {
  LayerNorm layer(7);
  BOOST_TEST(names_and_shapes(layer) == "scale [7], bias [7]");
  layer.to(device);
  const Tensor x = drawn({2, 3, 7}, 1, -2, 2, device), ones = Tensor::full({7}, 1, device),
               bias = drawn({7}, 2, device);
  check_same_bits(layer_norm(x, ones, Tensor::zeros({7}, device), 1e-5).value(), layer.forward(x).value(), "at first");
  layer.parameters()[0].parameter->set_value(bias);
  layer.parameters()[1].parameter->set_value(ones);
  check_same_bits(layer_norm(x, bias, ones, 1e-5).value(), layer.forward(x).value(), "of other parameters");
  check_refused([&] { layer.forward(drawn({2, 6}, 1, device)); }, "LAYER-3", "[2, 6], [7] and [7]");
  check_refused([] { LayerNorm(0); }, "LAYER-3", "LayerNorm: expected a width of at least 1, found 0");
}

CONTRACT(LAYER_3_a_feed_forward_expands_activates_and_projects) {
  for (Activation activation : {Activation::gelu, Activation::relu}) {
    Random random(7), same(7);
    FeedForward layer(5, 9, activation, random["block"]);
    BOOST_TEST(names_and_shapes(layer) ==
               "expand.weight [9, 5], expand.bias [9], project.weight [5, 9], project.bias [5]");
    Linear expand(5, 9, same["block"]["expand"]), project(9, 5, same["block"]["project"]);
    layer.to(device);
    expand.to(device);
    project.to(device);
    const Tensor x = drawn({2, 3, 5}, 1, device);
    const Variable hidden = expand.forward(x), active = activation == Activation::gelu ? gelu(hidden) : relu(hidden);
    check_same_bits(project.forward(active).value(), layer.forward(x).value(), "feed_forward");
    check_refused([&] { layer.forward(drawn({2, 4}, 1, device)); }, "LAYER-1", "[2, 4]");
    check_refused([&] { FeedForward(5, 0, activation, random["b"]); }, "LAYER-1", "5 in, 0 out");
  }
}
