// Contract of the graph: backward passes and the scopes.
#include <limits>
#include <stdexcept>
#include <thread>

#include "autograd/checkpoint.hpp"
#include "autograd/ops.hpp"
#include "device/buffer.hpp"
#include "support/contract.hpp"
#include "support/graphs.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(GRAPH_1_a_scalar_seeds_1_and_anything_else_needs_a_seed_of_its_shape_and_device) {
  Variable x = leaf({1, 2, 3}, device);
  sum(x).backward();
  BOOST_TEST(gradient_of(x) == (Values{1, 1, 1}));
  Variable y = multiply(x, x);
  check_atomic(
      [&] {
        check_refused([&] { y.backward(); }, "GRAPH-1", "found [3]");
        check_refused(
            [&] { y.backward(Tensor::full({2}, 1, device)); }, "GRAPH-1",
            "expected a seed float32 [3] on " + to_string(device) + ", found float32 [2] on " + to_string(device));
        check_refused([&] { y.backward(Tensor::full({3}, 1, reference_device)); }, "GRAPH-1",
                      "found float64 [3] on reference");
        check_refused(
            [&] {
              y.backward(Tensor::from<std::int32_t>({1, 1, 1}, {3}, device));
            },
            "GRAPH-1", "found int32 [3]");
        check_refused([&] { Variable(Tensor::full({}, 1, device)).backward(); }, "GRAPH-1", "depends on no leaf");
      },
      {x});
}

CONTRACT(GRAPH_2_contributions_are_added_from_the_last_consumer_to_the_first) {
  // (c3 + c2) + c1 differs from every other order: 1 is lost against 2²⁵ unless the large ones cancel first.
  const float large = 0x1p25f;
  auto gradient = [&](float first, float second, float third) {
    Variable x = leaf({1}, device);
    auto scaled = [&](float by) { return multiply(x, Tensor::full({1}, by, device)); };
    Variable a = scaled(first), b = scaled(second), c = scaled(third);
    add(add(b, c), a).backward();  // the order of use is not the order of creation
    return gradient_of(x)[0];
  };
  BOOST_TEST(gradient(1, large, -large) == 1);
  BOOST_TEST(gradient(large, -large, 1) == 0);
  BOOST_TEST(gradient(large, 1, -large) == 0);
}

CONTRACT(GRAPH_2_the_first_contribution_is_stored_and_not_added_to_zero) {
  Variable x = leaf({1}, device);
  multiply(x, Tensor::full({1}, -0.0, device)).backward();
  BOOST_TEST(ulp_distance(gradient_of(x)[0], -0.0f) == 0u);
}

CONTRACT(GRAPH_3_a_pass_that_fails_leaves_every_gradient_as_it_was) {
  Variable first = leaf({1, 2}, device);
  sum(first).backward();
  Variable failing = passing(
      {first}, [](const Tensor&, const auto&) -> std::vector<Tensor> { throw std::runtime_error("on purpose"); });
  // Younger than the failing operation, so the pass has their totals before it fails.
  Variable second = leaf({3, 4}, device), third = leaf({5, 6}, device);
  sum(third).backward();
  Variable loss = sum(multiply(failing, multiply(second, third)));
  check_atomic([&] { BOOST_CHECK_THROW(loss.backward(), std::runtime_error); }, {first, second, third});
  BOOST_TEST(!second.has_pending_gradient());
}

CONTRACT(GRAPH_4_leaves_accumulate_until_zeroed_and_inner_nodes_are_fresh) {
  Variable x = leaf({2, 3}, device);
  Variable loss = sum(multiply(x, x));
  loss.backward();
  BOOST_TEST(gradient_of(x) == (Values{4, 6}));
  loss.backward();
  BOOST_TEST(gradient_of(x) == (Values{8, 12}));
  x.zero_gradient();
  BOOST_TEST(!x.has_pending_gradient());
  BOOST_TEST(gradient_of(x) == (Values{0, 0}));
  loss.backward();
  BOOST_TEST(gradient_of(x) == (Values{4, 6}));
}

CONTRACT(GRAPH_4_gradients_of_two_leaves_and_the_seed_are_tensors_of_their_own) {
  Variable a = leaf({1, 2}, device), b = leaf({3, 4}, device);
  Tensor seed = Tensor::from<float>({5, 6}, {2}, device);
  add(a, b).backward(seed);
  seed.write(Values{7, 7});
  Tensor gradient = a.gradient();
  gradient.write(Values{8, 8});
  BOOST_TEST(gradient_of(b) == (Values{5, 6}));
}

CONTRACT(GRAPH_5_a_changed_operand_is_refused_before_anything_is_written) {
  Variable w = leaf({1, 2}, device), x(Tensor::from<float>({3, 4}, {2}, device));
  Tensor weight = w.value(), data = x.value();
  Variable loss = sum(multiply(w, x));
  loss.backward();
  data.write(Values{5, 6});
  check_atomic(
      [&] {
        check_refused([&] { loss.backward(); }, "GRAPH-5",
                      "backward through multiply: expected operand 1 [2] at version 1, found version 2");
      },
      {w});
  Variable again = sum(multiply(w, x));
  weight.write(Values{7, 8});
  check_refused([&] { again.backward(); }, "GRAPH-5", "operand 0 [2] at version 1, found version 2");
  Variable y = exp(w);
  Tensor result = y.value();
  result.write(Values{0, 0});
  check_refused([&] { sum(y).backward(); }, "GRAPH-5", "exp: expected the result [2] at version 1, found version 2");
}

CONTRACT(GRAPH_6_an_unreachable_leaf_keeps_its_gradient) {
  Variable reached = leaf({1}, device), apart = leaf({2}, device), never = leaf({3}, device);
  sum(apart).backward();
  sum(reached).backward();
  sum(reached).backward();
  BOOST_TEST(gradient_of(apart) == (Values{1}));
  BOOST_TEST(!never.has_pending_gradient());
}

CONTRACT(GRAPH_6_a_dependency_that_a_segment_does_not_need_is_not_reached) {
  Variable x = leaf({1}, device), idle = leaf({2}, device), aside = leaf({3}, device);
  Variable y = checkpoint(
      [](const auto& in) {
        exp(in[2]);
        return multiply(in[0], in[0]);
      },
      {x, idle, multiply(aside, aside)});
  y.backward();
  BOOST_TEST(gradient_of(x) == (Values{2}));
  BOOST_TEST(!idle.has_pending_gradient());
  BOOST_TEST(!aside.has_pending_gradient());
}

CONTRACT(GRAPH_7_an_input_that_requires_no_gradient_costs_none) {
  Variable x = leaf({1}, device), data(Tensor::full({1}, 2, device));
  std::vector<bool> asked;
  bool upstream_of_data_ran = false;
  Variable from_data = passing({data}, [&](const Tensor& upstream, const auto&) {
    upstream_of_data_ran = true;
    return std::vector{upstream};
  });
  BOOST_TEST(!from_data.requires_gradient());
  passing({x, from_data, data}, [&](const Tensor& upstream, const std::vector<bool>& needed) {
    asked = needed;
    return std::vector{upstream, Tensor(), Tensor()};
  }).backward();
  BOOST_TEST(asked == (std::vector<bool>{true, false, false}));
  BOOST_TEST(!upstream_of_data_ran);
  BOOST_TEST(!data.has_pending_gradient());
  check_refused([&] { data.gradient(); }, "GRAPH-7", "expected a leaf that gathers a gradient, found data");
  check_refused([&] { exp(x).gradient(); }, "GRAPH-7", "found the result of exp");
}

CONTRACT(GRAPH_7_no_operation_makes_a_buffer_for_the_gradient_of_data) {
  // Buffers that the backward pass of f(a, b) makes; each of the two operands is a leaf or data.
  auto buffers = [&](const Operation& f, const std::vector<Tensor>& operands, std::vector<bool> differentiable) {
    std::vector<Variable> inputs;
    for (std::size_t i = 0; i < operands.size(); ++i)
      inputs.push_back(differentiable[i] ? Variable::leaf(operands[i]) : Variable(operands[i]));
    Variable y = f(inputs);
    Tensor seed = Tensor::full(y.shape(), 1, device);
    std::uint64_t before = device_counters(device).allocations;
    y.backward(seed);
    return device_counters(device).allocations - before;
  };
  Tensor a = drawn({3, 4}, 1, 1, 2, device), b = drawn({3, 4}, 2, 1, 2, device), w = drawn({5, 4}, 3, -1, 1, device);
  struct Case {
    const char* name;
    Operation f;
    std::vector<Tensor> operands;
  };
  for (const Case& c : std::vector<Case>{
           {"multiply", [](const auto& in) { return multiply(in[0], in[1]); }, {a, b}},
           {"divide", [](const auto& in) { return divide(in[0], in[1]); }, {a, b}},
           {"subtract", [](const auto& in) { return subtract(in[0], in[1]); }, {a, b}},
           {"matmul", [](const auto& in) { return matmul(in[0], transpose(in[1], 0, 1)); }, {a, w}},
           {"linear", [](const auto& in) { return linear(in[0], in[1]); }, {a, w}},
           {"mean_squared_error", [](const auto& in) { return mean_squared_error(in[0], in[1]); }, {a, b}}})
    BOOST_TEST(buffers(c.f, c.operands, {true, false}) < buffers(c.f, c.operands, {true, true}), c.name);
}

CONTRACT(GRAPH_8_a_chain_of_a_million_operations_runs_and_is_destroyed) {
  Variable x = leaf({3}, device);
  {
    Variable y = x;
    for (int i = 0; i < 1000000; ++i) y = passing(y);
    y.backward();
  }
  BOOST_TEST(gradient_of(x) == (Values{1}));
}

CONTRACT(GRAPH_8_a_chain_in_which_each_node_is_used_twice_is_destroyed_too) {
  Variable x = leaf({3}, device);
  Variable y = x;
  for (int i = 0; i < 200000; ++i)
    y = passing({y, y}, [device](const Tensor& upstream, const auto&) {
      return std::vector{upstream, Tensor::zeros(upstream.shape(), device)};
    });
  y.backward();
  y = {};
  BOOST_TEST(gradient_of(x) == (Values{1}));
}

namespace {

// What the thread is in, as seen from outside: recording, training, checking.
template <class Scope, class Seen>
void check_scope(Seen&& inside) {
  BOOST_TEST(!inside());
  {
    Scope outer;
    BOOST_TEST(inside());
    {
      Scope inner;
      BOOST_TEST(inside());
    }
    BOOST_TEST(inside());
    bool elsewhere = true;
    std::thread([&] { elsewhere = inside(); }).join();
    BOOST_TEST(!elsewhere);
  }
  BOOST_TEST(!inside());
  try {
    Scope scope;
    throw std::runtime_error("on purpose");
  } catch (const std::runtime_error&) {
  }
  BOOST_TEST(!inside());
}

}  // namespace

CONTRACT(GRAPH_9_scopes_nest_restore_on_exceptions_and_are_per_thread) {
  Variable x = leaf({1}, device), zero(Tensor::zeros({1}, device));
  check_scope<NoGradScope>([&] { return !exp(x).requires_gradient(); });
  check_scope<EvalScope>([] { return !training(); });
  check_scope<AnomalyScope>([&] {
    try {
      log(zero);
    } catch (const Error&) {
      return true;
    }
    return false;
  });
}

CONTRACT(GRAPH_10_a_leaf_used_twice_gets_its_gradient_once_a_use) {
  Variable x = leaf({5}, device);
  Variable copy = x, another = x;
  multiply(copy, another).backward();
  BOOST_TEST(gradient_of(x) == (Values{10}));
  x.zero_gradient();
  add(x, x).backward();
  BOOST_TEST(gradient_of(x) == (Values{2}));
}

CONTRACT(GRAPH_11_the_gradient_of_a_stretched_operand_is_summed_back_to_its_shape) {
  Variable column = Variable::leaf(Tensor::from<float>({1, 2}, {2, 1}, device)), row = leaf({3, 4, 5}, device);
  Variable y = multiply(column, row);
  BOOST_TEST(values_of(y.value()) == (Values{3, 4, 5, 6, 8, 10}));
  sum(y).backward();
  BOOST_TEST(gradient_of(column) == (Values{12, 12}));
  BOOST_TEST(gradient_of(row) == (Values{3, 3, 3}));
  BOOST_TEST((column.gradient().shape() == Shape{2, 1}));
  check_refused([&] { add(row, leaf({1, 2}, device)); }, "GRAPH-11", "[3] and [2]");
}

CONTRACT(GRAPH_12_a_network_of_strided_operands_has_the_bits_of_contiguous_ones) {
  Operation network = [](const auto& in) {
    return log_softmax(matmul(gelu(add(matmul(in[0], transpose(in[1], 0, 1)), in[2])), in[3]));
  };
  check_operation(device, "network", network,
                  {drawn({5, 33}, 1, -1, 1, device), drawn({9, 33}, 2, -0.2, 0.2, device), drawn({9}, 3, -1, 1, device),
                   drawn({9, 4}, 4, -1, 1, device)},
                  32);
}

CONTRACT(GRAPH_13_operands_on_two_devices_are_refused_naming_both) {
  Variable here(drawn({2, 2}, 1, -1, 1, device)), there(drawn({2, 2}, 2, -1, 1, reference_device));
  check_refused([&] { matmul(here, there); }, "GRAPH-13",
                "matmul: expected operands on one device, found " + to_string(device) + " and reference");
  check_refused([&] { multiply(there, here); }, "GRAPH-13",
                "multiply: expected operands on one device, found reference and " + to_string(device));
}

CONTRACT(GRAPH_14_the_anomaly_check_names_operation_and_element_forward) {
  Variable x = Variable::leaf(Tensor::from<float>({1, 2, 3, 1, 0, -1}, {2, 3}, device));
  BOOST_TEST(values_of(log(x).value())[4] == -std::numeric_limits<float>::infinity());
  AnomalyScope check;
  check_refused([&] { log(x); }, "GRAPH-14", "log: expected finite results, found -inf at element 4 of [2, 3]");
  Variable zero(Tensor::zeros({1}, device));
  check_refused([&] { divide(zero, zero); }, "GRAPH-14",
                "divide: expected finite results, found nan at element 0 of [1]");
  Tensor masked = Tensor::full({1, 2}, -std::numeric_limits<double>::infinity(), device);
  check_refused([&] { softmax(masked); }, "GRAPH-14", "softmax");
  Tensor logits = Tensor::full({1, 2}, std::numeric_limits<double>::quiet_NaN(), device);
  Tensor labels = Tensor::from<std::int32_t>({1}, {1}, device);
  check_refused([&] { cross_entropy(logits, labels); }, "GRAPH-14",
                "cross_entropy: expected finite results, found nan");
  BOOST_TEST(values_of(exp(x).value())[4] == 1);
}

CONTRACT(GRAPH_14_the_anomaly_check_names_operation_and_element_backward_and_changes_nothing) {
  Variable x = leaf({1, 0, 4}, device), other = leaf({5}, device);
  sum(x).backward();
  Variable root = passing({x}, [](const Tensor& upstream, const auto&) { return std::vector{upstream}; });
  Variable loss =
      add(sum(passing(
              {root},
              [device](const Tensor&, const auto&) {
                return std::vector{Tensor::from<float>({1, 2, std::numeric_limits<float>::infinity()}, {3}, device)};
              })),
          sum(other));
  AnomalyScope check;
  check_atomic(
      [&] {
        check_refused([&] { loss.backward(); }, "GRAPH-14",
                      "gradient of passing at position 0: expected finite results, found inf at element 2 of [3]");
      },
      {x, other});
}
