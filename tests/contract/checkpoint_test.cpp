// Contract of activation checkpointing.
#include "autograd/checkpoint.hpp"

#include <stdexcept>

#include "autograd/ops.hpp"
#include "device/buffer.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"
#include "nn/shard_scope.hpp"
#include "support/contract.hpp"
#include "support/graphs.hpp"

using namespace assay;
using namespace assay::test;

namespace {

using Leaves = std::vector<Variable>;

// Whether a segment is checkpointed or part of the plain graph.
Variable segment(bool checkpointed, Segment compute, const Leaves& dependencies) {
  return checkpointed ? checkpoint(std::move(compute), dependencies) : compute(dependencies);
}

// Builds a loss of drawn leaves twice, plain and checkpointed, and compares value and gradients bit by bit.
template <class Build>
void check_as_plain(Build&& build, const std::vector<Shape>& shapes, Device device, const std::string& what) {
  std::vector<Leaves> both;
  std::vector<Tensor> values;
  for (bool checkpointed : {false, true}) {
    Leaves leaves;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      leaves.push_back(Variable::leaf(drawn(shapes[i], i + 1, -1, 1, device)));
    Variable y = build(checkpointed, leaves);
    y.backward(drawn(y.shape(), 99, 0.5, 1.5, device));
    values.push_back(y.value());
    both.push_back(leaves);
  }
  check_same_bits(values[0], values[1], what + ", value");
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    BOOST_TEST(both[0][i].has_pending_gradient() == both[1][i].has_pending_gradient());
    check_same_bits(both[0][i].gradient(), both[1][i].gradient(), what + ", gradient " + std::to_string(i));
  }
}

// x·a + x·b + x·c, added up in another order than it was made in: the contributions to x depend on their order.
Variable uneven(const Leaves& in) {
  Variable a = multiply(in[0], in[1]), b = multiply(in[0], exp(in[1])), c = multiply(in[0], in[0]);
  return add(add(b, c), a);
}

}  // namespace

CONTRACT(CKPT_1_a_segment_is_computed_once_forward_and_once_a_backward_pass) {
  Variable x = leaf({1, 2}, device);
  int runs = 0;
  Variable y = checkpoint(
      [&](const auto& in) {
        ++runs;
        return multiply(in[0], in[0]);
      },
      {x});
  BOOST_TEST(runs == 1);
  BOOST_TEST(values_of(y.value()) == (Values{1, 4}));
  sum(y).backward();
  BOOST_TEST(runs == 2);
  sum(y).backward();
  BOOST_TEST(runs == 3);
  BOOST_TEST(gradient_of(x) == (Values{4, 8}));
}

CONTRACT(CKPT_1_gradients_have_the_bits_of_the_plain_graph) {
  check_as_plain(
      [](bool checkpointed, const Leaves& in) {
        Variable before = tanh(in[0]);
        Variable y = segment(checkpointed, uneven, {before, in[1]});
        return add(multiply(y, before), segment(checkpointed, uneven, {in[1], before}));
      },
      {{5, 7}, {5, 7}}, device, "segments between operations");
  check_as_plain(
      [](bool checkpointed, const Leaves& in) {
        auto block = [](const Leaves& all) {
          Variable hidden = gelu(linear(all[0], all[1], all[2]));
          return add(all[0], linear(hidden, transpose(all[1], 0, 1)));
        };
        Variable x = in[0];
        for (int layer = 0; layer < 3; ++layer) x = segment(checkpointed, block, {x, in[1], in[2]});
        return log_softmax(x);
      },
      {{6, 5}, {9, 5}, {9}}, device, "three blocks with common weights");
  check_as_plain(
      [](bool checkpointed, const Leaves& in) {
        return segment(checkpointed,
                       [=](const Leaves& all) {
                         Variable inner = segment(checkpointed, uneven, {all[0], all[1]});
                         return multiply(segment(checkpointed, uneven, {inner, all[0]}), inner);
                       },
                       {exp(in[0]), in[1]});
      },
      {{3, 4}, {3, 4}}, device, "segments in a segment");
}

CONTRACT(CKPT_1_each_contribution_of_a_replay_is_added_by_itself_in_the_order_of_creation) {
  // From the last consumer to the first: 1 is lost against 2²⁵ unless the large ones cancel first.
  const float large = 0x1p25f;
  auto gradient = [&](bool checkpointed, float outside, float first, float second) {
    Variable x = leaf({1}, device);
    auto by = [device](const Variable& v, float factor) { return multiply(v, Tensor::full({1}, factor, device)); };
    Variable y = segment(checkpointed,
                         [&](const Leaves& in) {
                           Variable a = by(in[0], first), b = by(in[0], second);
                           return add(b, a);
                         },
                         {x});
    add(by(x, outside), y).backward();
    return gradient_of(x)[0];
  };
  // One total of the segment would give (1 + 2²⁵) − 2²⁵ = 0 where one by one gives 2²⁵ − 2²⁵ + 1.
  for (auto [outside, first, second] : {std::array{large, 1.0f, -large}, {1.0f, large, -large}, {large, -large, 1.0f}})
    BOOST_TEST(gradient(true, outside, first, second) == gradient(false, outside, first, second));
  BOOST_TEST(gradient(true, large, 1, -large) == 1);
}

CONTRACT(CKPT_2_dependencies_are_declared_once_and_captures_and_new_leaves_are_refused) {
  Variable x = leaf({1}, device), hidden = leaf({2}, device);
  Random random(3);
  Dropout dropout(0.5, random["dropout"]);
  auto stream = random.streams()[0];
  auto refused = [&](Segment compute, const Leaves& dependencies, const std::string& fragment) {
    check_atomic([&] { check_refused([&] { checkpoint(compute, dependencies); }, "CKPT-2", fragment); }, {x, hidden});
    BOOST_TEST(stream->draws() == 0u);
    BOOST_TEST(exp(x).requires_gradient());
  };
  refused([&](const Leaves& in) { return multiply(dropout.forward(in[0]), hidden); }, {x},
          "multiply in a checkpointed segment: expected a declared dependency, or what was computed of them, at "
          "position 1, found a captured variable [1]");
  Variable inner = exp(hidden);
  refused([&](const Leaves& in) { return multiply(dropout.forward(in[0]), inner); }, {x}, "found a captured variable");
  refused([&](const Leaves& in) { return multiply(dropout.forward(in[0]), leaf({4}, device)); }, {x},
          "found a new leaf [1]");
  refused([&](const Leaves&) { return hidden; }, {x}, "checkpoint: expected a result that was computed of the");
  refused([](const Leaves& in) { return in[0]; }, {x, hidden, x}, "found dependency 0 again as dependency 2");
  refused([](const Leaves& in) { return in[0]; }, {x, Variable()}, "expected a value for dependency 1, found none");
  refused({}, {x}, "expected a segment, found an empty function");
  refused(
      [&](const Leaves& in) {
        Variable y = dropout.forward(in[0]);
        return checkpoint([](const Leaves& two) { return multiply(two[0], two[1]); }, {y, hidden});
      },
      {x}, "checkpoint in a checkpointed segment");
}

CONTRACT(CKPT_2_a_segment_may_return_a_dependency_and_use_data) {
  Variable x = leaf({3}, device), data(Tensor::full({1}, 2, device));
  BOOST_TEST((checkpoint([](const Leaves& in) { return in[0]; }, {x}) == x));
  BOOST_TEST(!checkpoint([](const Leaves& in) { return exp(in[0]); }, {data}).requires_gradient());
  {
    NoGradScope scope;
    BOOST_TEST(!checkpoint([](const Leaves& in) { return exp(in[0]); }, {x}).requires_gradient());
  }
  checkpoint([&](const Leaves& in) { return multiply(in[0], data); }, {x}).backward();
  BOOST_TEST(gradient_of(x) == (Values{2}));
}

CONTRACT(CKPT_3_a_dependency_or_other_data_that_changed_before_backward_is_refused) {
  Variable x = leaf({1, 2}, device), w = leaf({3, 4}, device);
  Tensor weight = w.value(), factor = Tensor::full({2}, 2, device);
  auto build = [&] {
    return sum(checkpoint([&](const Leaves& in) { return multiply(multiply(in[0], in[1]), factor); }, {x, w}));
  };
  Variable loss = build();
  loss.backward();
  weight.write(Values{5, 6});
  check_atomic(
      [&] {
        check_refused([&] { loss.backward(); }, "CKPT-3",
                      "backward through checkpoint: expected operand 1 [2] at version 1, found version 2");
      },
      {x, w});
  Variable again = build();
  factor.write(Values{7, 7});
  check_atomic([&] { check_refused([&] { again.backward(); }, "CKPT-3", "operand 2 [2] at version"); }, {x, w});
}

CONTRACT(CKPT_4_a_replay_that_computes_something_else_or_throws_changes_nothing) {
  Variable x = leaf({1, 2}, device), w = leaf({3, 4}, device), younger_data = leaf({9, 9}, device);
  sum(add(x, w)).backward();
  auto refused = [&](Segment first, Segment second, const std::string& fragment) {
    bool replaying = false;
    Variable y =
        checkpoint([&](const Leaves& in) { return (std::exchange(replaying, true) ? second : first)(in); }, {x, w});
    Variable younger = leaf({5, 6}, device);
    Variable loss = sum(multiply(y, younger));
    check_atomic([&] { check_refused([&] { loss.backward(); }, "CKPT-4", fragment); }, {x, w, younger});
    BOOST_TEST(training());
  };
  Segment product = [](const Leaves& in) { return multiply(in[0], in[1]); };
  refused(
      product, [](const Leaves& in) { return sum(multiply(in[0], in[1])); },
      "replay of a segment: expected float32 [2] on " + to_string(device) + ", found float32 [] on");
  refused(
      product, [](const Leaves& in) { return multiply(in[0], in[0]); }, "the dependencies that it used before");
  refused(
      product,
      [&](const Leaves& in) {
        multiply(in[0], in[1]);
        return younger_data;
      },
      "a result that it computed of its dependencies");
  refused(
      product, [&](const Leaves& in) { return multiply(product(in), younger_data); }, "found a captured variable");

  bool replaying = false;
  Variable y = checkpoint(
      [&](const Leaves& in) {
        EvalScope scope;
        if (std::exchange(replaying, true)) throw std::runtime_error("on purpose");
        return multiply(in[0], in[1]);
      },
      {x, w});
  Variable younger = leaf({5, 6}, device);
  Variable loss = sum(multiply(y, younger));
  check_atomic([&] { BOOST_CHECK_THROW(loss.backward(), std::runtime_error); }, {x, w, younger});
  BOOST_TEST(training());
  BOOST_TEST(exp(x).requires_gradient());
}

CONTRACT(CKPT_5_a_dependency_used_twice_or_by_two_segments_gets_each_contribution_once) {
  Variable x = leaf({3}, device);
  auto square = [](const Leaves& in) { return multiply(in[0], in[0]); };
  add(checkpoint(square, {x}), checkpoint(square, {x})).backward();
  BOOST_TEST(gradient_of(x) == (Values{12}));
}

CONTRACT(CKPT_6_a_replay_uses_the_masks_of_the_forward_and_draws_nothing) {
  Tensor masked[2][2];
  for (bool checkpointed : {false, true}) {
    Random random(7);
    Dropout first(0.4, random["first"]), second(0.3, random["second"]);
    Variable x = Variable::leaf(drawn({6, 5}, 1, -1, 1, device));
    first.forward(x);  // so that the segment's draws are not the first ones
    std::map<std::string, std::uint64_t> masks;
    Variable y;
    {
      ShardScope shard(4, &masks);
      y = segment(checkpointed, [&](const Leaves& in) { return first.forward(second.forward(first.forward(in[0]))); },
                  {x});
    }
    auto digests = masks;
    Variable later = first.forward(x);  // a draw between forward and backward
    {
      ShardScope another(0, &masks);
      sum(y).backward();
    }
    BOOST_TEST((masks == digests));
    masked[checkpointed][0] = x.gradient();
    masked[checkpointed][1] = add(later, first.forward(x)).value();
    BOOST_TEST(random.streams()[0]->draws() == 5u);
    BOOST_TEST(random.streams()[1]->draws() == 1u);
  }
  check_same_bits(masked[0][0], masked[1][0], "gradient through the masks");
  check_same_bits(masked[0][1], masked[1][1], "the draws after the segment");
}

CONTRACT(CKPT_6_a_replay_is_in_the_mode_of_the_forward) {
  Random random(7);
  Dropout dropout(0.5, random["dropout"]);
  Variable x = Variable::leaf(drawn({40}, 1, 1, 2, device)), trained, evaluated;
  auto compute = [&](const Leaves& in) { return multiply(dropout.forward(in[0]), Tensor::full({}, 2, device)); };
  trained = checkpoint(compute, {x});
  {
    EvalScope scope;
    evaluated = checkpoint(compute, {x});
    sum(trained).backward();
    BOOST_TEST(!training());
  }
  int zeros = 0;
  for (float g : gradient_of(x)) zeros += g == 0;
  BOOST_TEST(zeros > 5);
  x.zero_gradient();
  sum(evaluated).backward();
  BOOST_TEST(gradient_of(x) == Values(40, 2));
  BOOST_TEST(random.streams()[0]->draws() == 1u);
}

CONTRACT(CKPT_6_a_replay_that_draws_otherwise_is_refused) {
  Random random(7);
  Dropout a(0.5, random["a"]), b(0.5, random["b"]);
  Variable x = leaf({1, 2}, device);
  for (int other : {0, 1, 2}) {
    bool replaying = false;
    Variable y = checkpoint(
        [&](const Leaves& in) {
          if (!std::exchange(replaying, true)) return a.forward(in[0]);
          return other == 0 ? b.forward(in[0]) : other == 1 ? exp(in[0]) : a.forward(a.forward(in[0]));
        },
        {x});
    std::uint64_t draws = random.streams()[0]->draws();
    check_atomic([&] { check_refused([&] { sum(y).backward(); }, "CKPT-6", "replay of"); }, {x});
    BOOST_TEST(random.streams()[0]->draws() == draws);
    BOOST_TEST(random.streams()[1]->draws() == 0u);
  }
}

CONTRACT(CKPT_7_between_forward_and_backward_a_segment_holds_its_result_alone) {
  Variable x = Variable::leaf(drawn({64, 32}, 1, -1, 1, device));
  auto bytes = [&](bool checkpointed) {
    Variable y = x;
    std::uint64_t before = device_counters(device).live_bytes;
    for (int block = 0; block < 3; ++block)
      y = segment(checkpointed, [](const Leaves& in) { return tanh(gelu(exp(sigmoid(in[0])))); }, {y});
    return device_counters(device).live_bytes - before;
  };
  const std::uint64_t one = 64 * 32 * 4;
  BOOST_TEST(bytes(false) == 15 * one);  // gelu keeps two
  BOOST_TEST(bytes(true) == 3 * one);
}

CONTRACT(GRAPH_8_a_long_chain_of_segments_is_destroyed_also_where_they_capture_their_inputs) {
  Variable x = leaf({1}, device), y = x;
  for (int i = 0; i < 50000; ++i) y = checkpoint([y](const Leaves& in) { return passing(in[0]); }, {y});
  y.backward();
  y = {};
  BOOST_TEST(gradient_of(x) == (Values{1}));
}
