// Contract of cross entropy.
#include "autograd/cross_entropy.hpp"

#include <algorithm>
#include <limits>

#include "numerics/exp.hpp"
#include "numerics/log.hpp"
#include "numerics/order.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Tensor class_labels(const std::vector<std::int32_t>& labels, Device device = cpu) {
  return Tensor::from(labels, {static_cast<std::int64_t>(labels.size())}, device);
}

// 0, 1, 2 … modulo the classes, with every fifth row ignored.
std::vector<std::int32_t> some_labels(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int32_t> labels;
  for (std::int64_t row = 0; row < rows; ++row)
    labels.push_back(row % 5 == 3 ? -100 : static_cast<std::int32_t>(row % classes));
  return labels;
}

Operation against(const std::vector<std::int32_t>& labels, const CrossEntropyOptions& options = {}) {
  return [=](const std::vector<Variable>& in) {
    return cross_entropy(in[0], class_labels(labels, in[0].device()), options);
  };
}

// The documented formula, one scalar after the other.
struct Stated {
  float loss;
  std::vector<float> gradient;
};
Stated stated(const Tensor& logits, const std::vector<std::int32_t>& labels, double smoothing, std::int64_t count,
              float upstream) {
  auto x = logits.read<float>();
  auto classes = static_cast<std::size_t>(logits.shape()[1]);
  auto k = static_cast<float>(1 - smoothing), u = static_cast<float>(smoothing / static_cast<double>(classes));
  float scale = upstream / static_cast<float>(count);
  std::vector<float> rows, gradient;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const float* at = x.data() + row * classes;
    float most = *std::max_element(at, at + classes);
    float sum = numerics::lane_sum(classes, [&](std::size_t c) { return numerics::exp(at[c] - most); });
    auto log_softmax = [&](std::size_t c) { return (at[c] - most) - numerics::log(sum); };
    bool scored = labels[row] >= 0;
    auto t = static_cast<std::size_t>(scored ? labels[row] : 0);
    float loss = k * -log_softmax(t);
    if (smoothing > 0) loss = loss + u * -numerics::lane_sum(classes, log_softmax);
    rows.push_back(scored ? loss : 0.0f);
    for (std::size_t c = 0; c < classes; ++c) {
      float p = numerics::exp(at[c] - most) / sum, q = c == t ? k + u : u;
      gradient.push_back(scored ? (p - q) * scale : 0.0f);
    }
  }
  float total = numerics::lane_sum(rows.size(), [&](std::size_t row) { return rows[row]; });
  return {total / static_cast<float>(count), gradient};
}

}  // namespace

CONTRACT(CHECK_1_cross_entropy_matches_the_oracle_at_awkward_sizes) {
  for (std::int64_t classes : {1, 10, 31, 32, 33, 257})
    for (double smoothing : {0.0, 0.1}) {
      if (classes == 1) continue;  // its loss is 0 whatever the logits are
      check_operation(device, "cross_entropy", against(some_labels(7, classes), {.label_smoothing = smoothing}),
                      {drawn({7, classes}, 1, -3, 3)}, 16);
    }
  for (std::int64_t rows : {1, 31, 32, 33, 257})
    check_operation(device, "cross_entropy", against(some_labels(rows, 3)), {drawn({rows, 3}, 1, -3, 3)}, 16);
  check_operation(device, "cross_entropy on several threads", against(some_labels(700, 33)),
                  {drawn({700, 33}, 1, -3, 3)}, 16);
  check_operation(device, "cross_entropy of a shard", against(some_labels(7, 3), {.count = 100}),
                  {drawn({7, 3}, 1, -3, 3)}, 16);
}

CONTRACT(NUM_8_cross_entropy_and_its_gradient_are_the_stated_expressions) {
  Tensor logits = drawn({37, 45}, 1, -3, 3, device);
  auto labels = some_labels(37, 45);
  auto upstream = static_cast<float>(drawn({}, 99, 0.5, 1.5, device).item());
  std::int64_t scored = scored_rows(class_labels(labels, device));
  BOOST_TEST(scored == 30);
  for (double smoothing : {0.0, 0.1})
    for (std::int64_t count : {scored, std::int64_t{128}}) {
      Outcome found = outcome(against(labels, {.label_smoothing = smoothing, .count = count}), {logits});
      Stated expected = stated(logits, labels, smoothing, count, upstream);
      check_same_bits(Tensor::full({}, expected.loss, device), found.value, "loss");
      check_same_bits(Tensor::from(expected.gradient, {37, 45}, device), found.gradients[0], "gradient");
    }
}

CONTRACT(LAYER_3_equal_logits_cost_the_logarithm_of_the_classes) {
  for (Device where : {device, reference_device}) {
    Variable logits = Variable::leaf(Tensor::full({4, 8}, 3, where));
    Variable loss = cross_entropy(logits, class_labels({0, 1, 2, 7}, where));
    BOOST_TEST(static_cast<float>(loss.value().item()) == numerics::log(8.0f));
    loss.backward();
    auto gradient = doubles(logits.gradient());
    BOOST_TEST(static_cast<float>(gradient[0]) == (0.125f - 1) / 4);
    BOOST_TEST(static_cast<float>(gradient[1]) == 0.125f / 4);
  }
}

CONTRACT(LAYER_3_an_ignored_row_scores_nothing_whatever_it_holds) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int32_t ignored : {-100, 255}) {
    Variable logits = Variable::leaf(Tensor::from<float>({1, 1, nan, nan, 2, 2}, {3, 2}, device));
    CrossEntropyOptions options{.label_smoothing = 0.25, .ignore_index = ignored};
    Variable loss = cross_entropy(logits, class_labels({0, ignored, 1}, device), options);
    loss.backward();
    Tensor two_rows = Tensor::from<float>({1, 1, 2, 2}, {2, 2}, device);
    check_same_bits(cross_entropy(two_rows, class_labels({0, 1}, device), options).value(), loss.value(), "loss");
    auto gradient = logits.gradient().read<float>();
    BOOST_TEST(ulp_distance(gradient[2], 0.0f) == 0u);
    BOOST_TEST(ulp_distance(gradient[3], 0.0f) == 0u);
  }
}

CONTRACT(LAYER_3_with_nothing_scored_loss_and_gradients_are_positive_zero) {
  for (Device where : {device, reference_device})
    for (auto count : {std::optional<std::int64_t>(), std::optional<std::int64_t>(0), std::optional<std::int64_t>(8)})
      for (std::int64_t rows : {0, 3}) {
        Variable logits = Variable::leaf(drawn({rows, 2}, 1, where));
        std::vector<std::int32_t> labels(static_cast<std::size_t>(rows), -100);
        Variable loss = cross_entropy(logits, class_labels(labels, where), {.count = count});
        loss.backward();
        BOOST_TEST(ulp_distance(loss.value().item(), 0.0) == 0u);
        BOOST_TEST(logits.has_pending_gradient());
        for (double g : doubles(logits.gradient())) BOOST_TEST(ulp_distance(g, 0.0) == 0u);
      }
}

CONTRACT(NUM_11_shards_with_the_count_of_the_batch_have_its_gradient_rows) {
  Tensor x = drawn({13, 10}, 1, -3, 3, device);
  auto labels = some_labels(13, 10);
  Variable whole = Variable::leaf(x);
  cross_entropy(whole, class_labels(labels, device)).backward();
  std::int64_t count = scored_rows(class_labels(labels, device));
  for (std::int64_t begin : {0, 4, 9}) {
    std::int64_t end = std::min<std::int64_t>(13, begin + 5);
    Variable shard = Variable::leaf(x.slice(0, begin, end));
    cross_entropy(shard, class_labels(labels, device).slice(0, begin, end), {.count = count}).backward();
    check_same_bits(whole.gradient().slice(0, begin, end), shard.gradient(), "shard from " + std::to_string(begin));
  }
}

CONTRACT(GRAPH_14_a_NaN_logit_makes_the_loss_NaN) {
  double loss = cross_entropy(Tensor::from<float>({1, std::numeric_limits<float>::quiet_NaN()}, {1, 2}, device),
                              class_labels({0}, device))
                    .value()
                    .item();
  BOOST_TEST(loss != loss);
}

CONTRACT(LAYER_3_a_label_out_of_range_is_refused_naming_its_row) {
  for (std::int32_t label : {-1, 3, 1 << 30})
    check_refused(
        [=] {
          cross_entropy(drawn({3, 3}, 1, device), class_labels({0, label, -7}, device));
        },
        "LAYER-3",
        "cross_entropy: expected a label in row 1 from 0 to 2, or -100 for none, found " + std::to_string(label));
}

CONTRACT(LAYER_3_cross_entropy_refuses_other_shapes_types_and_options) {
  check_refused(
      [&] {
        cross_entropy(drawn({3}, 1, device), class_labels({0, 1, 2}, device));
      },
      "LAYER-3", "found [3] and [3]");
  check_refused(
      [&] {
        cross_entropy(drawn({2, 3}, 1, device), class_labels({0, 1, 2}, device));
      },
      "LAYER-3", "found [2, 3] and [3]");
  check_refused(
      [&] {
        cross_entropy(drawn({0, 0}, 1, device), class_labels({}, device));
      },
      "LAYER-3", "at least one class");
  check_refused([&] { cross_entropy(drawn({2, 3}, 1, device), drawn({2}, 1, device)); }, "ACC-4", "int32");
  check_refused(
      [&] {
        cross_entropy(drawn({1, 3}, 1, device), class_labels({1}, reference_device));
      },
      "GRAPH-13", to_string(device) + " and reference");
  for (double smoothing : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    check_refused(
        [=] {
          cross_entropy(drawn({1, 3}, 1, device), class_labels({1}, device), {.label_smoothing = smoothing});
        },
        "LAYER-3", "expected label smoothing in [0, 1)");
  check_refused(
      [&] {
        cross_entropy(drawn({3, 3}, 1, device), class_labels({1, -100, 2}, device), {.count = 1});
      },
      "LAYER-3", "expected a count of at least the 2 scored rows, found 1");
}

CONTRACT(GRAPH_5_labels_that_changed_before_backward_are_refused) {
  Tensor labels = class_labels({0, 1}, device);
  Variable logits = Variable::leaf(drawn({2, 3}, 1, device));
  Variable loss = cross_entropy(logits, labels);
  labels.write(std::vector<std::int32_t>{1, 1});
  check_refused([&] { loss.backward(); }, "GRAPH-5", "cross_entropy");
  BOOST_TEST(!logits.has_pending_gradient());
}
