// Contract of the graph: backward passes, custom gradients, and the scopes.
#include <limits>
#include <stdexcept>
#include <thread>

#include "autograd/ops.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Variable leaf(const std::vector<float>& values) {
  return Variable::leaf(Tensor::from(values, {static_cast<std::int64_t>(values.size())}));
}

std::vector<float> gradient_of(const Variable& variable) {
  auto gradient = variable.gradient().read<float>();
  return {gradient.begin(), gradient.end()};
}

using Values = std::vector<float>;

// Passes the value on; the gradient is what `rule` makes of the upstream one, for each of the inputs.
Variable passing(const std::vector<Variable>& inputs, Vjp rule) {
  return custom_gradient("passing", inputs[0].value(), inputs, std::move(rule));
}
Variable passing(const Variable& input) {
  return passing({input}, [](const Tensor& upstream, const auto&) { return std::vector{upstream}; });
}

// Runs a backward pass that must fail, and checks that no leaf has changed.
template <class Call>
void check_atomic(Call&& call, const std::vector<Variable>& leaves) {
  std::vector<Values> before;
  std::vector<bool> pending;
  std::vector<std::uint64_t> versions;
  for (const Variable& x : leaves) {
    before.push_back(gradient_of(x));
    pending.push_back(x.has_pending_gradient());
    versions.push_back(x.value().version());
  }
  call();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    BOOST_TEST(gradient_of(leaves[i]) == before[i]);
    BOOST_TEST(leaves[i].has_pending_gradient() == pending[i]);
    BOOST_TEST(leaves[i].value().version() == versions[i]);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graph)

BOOST_AUTO_TEST_CASE(GRAPH_1_a_scalar_seeds_1_and_anything_else_needs_a_seed_of_its_shape_and_device) {
  Variable x = leaf({1, 2, 3});
  sum(x).backward();
  BOOST_TEST(gradient_of(x) == (Values{1, 1, 1}));
  Variable y = multiply(x, x);
  check_atomic(
      [&] {
        check_refused([&] { y.backward(); }, "GRAPH-1", "found [3]");
        check_refused([&] { y.backward(Tensor::full({2}, 1)); }, "GRAPH-1",
                      "expected a seed [3] on cpu, found [2] on cpu");
        check_refused([&] { y.backward(Tensor::full({3}, 1, reference_device)); }, "GRAPH-1", "found [3] on reference");
        check_refused([&] { Variable(Tensor::full({}, 1)).backward(); }, "GRAPH-1", "depends on no leaf");
      },
      {x});
}

BOOST_AUTO_TEST_CASE(GRAPH_2_contributions_are_added_from_the_last_consumer_to_the_first) {
  // (c3 + c2) + c1 differs from every other order: 1 is lost against 2²⁵ unless the large ones cancel first.
  const float large = 0x1p25f;
  auto gradient = [&](float first, float second, float third) {
    Variable x = leaf({1});
    auto scaled = [&](float by) { return multiply(x, Tensor::full({1}, by)); };
    Variable a = scaled(first), b = scaled(second), c = scaled(third);
    add(add(b, c), a).backward();  // the order of use is not the order of creation
    return gradient_of(x)[0];
  };
  BOOST_TEST(gradient(1, large, -large) == 1);
  BOOST_TEST(gradient(large, -large, 1) == 0);
  BOOST_TEST(gradient(large, 1, -large) == 0);
}

BOOST_AUTO_TEST_CASE(GRAPH_2_the_first_contribution_is_stored_and_not_added_to_zero) {
  Variable x = leaf({1});
  multiply(x, Tensor::full({1}, -0.0)).backward();
  BOOST_TEST(ulp_distance(gradient_of(x)[0], -0.0f) == 0u);
}

BOOST_AUTO_TEST_CASE(GRAPH_3_a_pass_that_fails_leaves_every_gradient_as_it_was) {
  Variable first = leaf({1, 2});
  sum(first).backward();
  Variable failing = passing(
      {first}, [](const Tensor&, const auto&) -> std::vector<Tensor> { throw std::runtime_error("on purpose"); });
  // Younger than the failing operation, so the pass has their totals before it fails.
  Variable second = leaf({3, 4}), third = leaf({5, 6});
  sum(third).backward();
  Variable loss = sum(multiply(failing, multiply(second, third)));
  check_atomic([&] { BOOST_CHECK_THROW(loss.backward(), std::runtime_error); }, {first, second, third});
  BOOST_TEST(!second.has_pending_gradient());
}

BOOST_AUTO_TEST_CASE(GRAPH_4_leaves_accumulate_until_zeroed_and_inner_nodes_are_fresh) {
  Variable x = leaf({2, 3});
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

BOOST_AUTO_TEST_CASE(GRAPH_4_gradients_of_two_leaves_and_the_seed_are_tensors_of_their_own) {
  Variable a = leaf({1, 2}), b = leaf({3, 4});
  Tensor seed = Tensor::from<float>({5, 6}, {2});
  add(a, b).backward(seed);
  seed.write(Values{7, 7});
  Tensor gradient = a.gradient();
  gradient.write(Values{8, 8});
  BOOST_TEST(gradient_of(b) == (Values{5, 6}));
}

BOOST_AUTO_TEST_CASE(GRAPH_5_a_changed_operand_is_refused_before_anything_is_written) {
  Variable w = leaf({1, 2}), x(Tensor::from<float>({3, 4}, {2}));
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

BOOST_AUTO_TEST_CASE(GRAPH_6_an_unreachable_leaf_keeps_its_gradient) {
  Variable reached = leaf({1}), apart = leaf({2});
  sum(apart).backward();
  sum(reached).backward();
  BOOST_TEST(gradient_of(apart) == (Values{1}));
  Variable never = leaf({3});
  sum(reached).backward();
  BOOST_TEST(!never.has_pending_gradient());
}

BOOST_AUTO_TEST_CASE(GRAPH_7_an_input_that_requires_no_gradient_costs_none) {
  Variable x = leaf({1}), data(Tensor::full({1}, 2));
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

BOOST_AUTO_TEST_CASE(GRAPH_8_a_chain_of_a_million_operations_runs_and_is_destroyed) {
  Variable x = leaf({3});
  {
    Variable y = x;
    for (int i = 0; i < 1000000; ++i) y = passing(y);
    y.backward();
  }
  BOOST_TEST(gradient_of(x) == (Values{1}));
}

BOOST_AUTO_TEST_CASE(GRAPH_8_a_chain_in_which_each_node_is_used_twice_is_destroyed_too) {
  Variable x = leaf({3});
  Variable y = x;
  for (int i = 0; i < 200000; ++i)
    y = passing({y, y}, [](const Tensor& upstream, const auto&) {
      return std::vector{upstream, Tensor::zeros(upstream.shape())};
    });
  y.backward();
  y = {};
  BOOST_TEST(gradient_of(x) == (Values{1}));
}

BOOST_AUTO_TEST_CASE(GRAPH_9_scopes_nest_restore_on_exceptions_and_are_per_thread) {
  Variable x = leaf({1});
  auto records = [&] { return exp(x).requires_gradient(); };
  BOOST_TEST(records());
  {
    NoGradScope outer;
    BOOST_TEST(!records());
    {
      NoGradScope inner;
      BOOST_TEST(!records());
    }
    BOOST_TEST(!records());
    bool elsewhere = false;
    std::thread([&] { elsewhere = records(); }).join();
    BOOST_TEST(elsewhere);
  }
  BOOST_TEST(records());
  try {
    NoGradScope scope;
    throw std::runtime_error("on purpose");
  } catch (const std::runtime_error&) {
  }
  BOOST_TEST(records());
}

BOOST_AUTO_TEST_CASE(MODE_1_a_thread_trains_until_an_EvalScope_says_otherwise) {
  BOOST_TEST(training());
  {
    EvalScope outer;
    BOOST_TEST(!training());
    {
      EvalScope inner;
      BOOST_TEST(!training());
    }
    BOOST_TEST(!training());
    bool elsewhere = false;
    std::thread([&] { elsewhere = training(); }).join();
    BOOST_TEST(elsewhere);
    BOOST_TEST(exp(leaf({1})).requires_gradient());  // evaluating still records
  }
  BOOST_TEST(training());
  try {
    EvalScope scope;
    throw std::runtime_error("on purpose");
  } catch (const std::runtime_error&) {
  }
  BOOST_TEST(training());
}

BOOST_AUTO_TEST_CASE(GRAPH_10_a_leaf_used_twice_gets_its_gradient_once_a_use) {
  Variable x = leaf({5});
  Variable copy = x, another = x;
  multiply(copy, another).backward();
  BOOST_TEST(gradient_of(x) == (Values{10}));
  x.zero_gradient();
  add(x, x).backward();
  BOOST_TEST(gradient_of(x) == (Values{2}));
}

BOOST_AUTO_TEST_CASE(GRAPH_12_a_network_of_strided_operands_has_the_bits_of_contiguous_ones) {
  Operation network = [](const auto& in) {
    return log_softmax(matmul(gelu(add(matmul(in[0], transpose(in[1], 0, 1)), in[2])), in[3]));
  };
  check_operation("network", network,
                  {drawn({5, 33}, 1), drawn({9, 33}, 2, -0.2, 0.2), drawn({9}, 3), drawn({9, 4}, 4)}, 32);
}

BOOST_AUTO_TEST_CASE(GRAPH_13_operands_on_two_devices_are_refused_naming_both) {
  Variable here(drawn({2, 2}, 1)), there(drawn({2, 2}, 2, -1, 1, reference_device));
  check_refused([&] { matmul(here, there); }, "GRAPH-13",
                "matmul: expected operands on one device, found cpu and reference");
  check_refused([&] { multiply(there, here); }, "GRAPH-13",
                "multiply: expected operands on one device, found reference and cpu");
}

BOOST_AUTO_TEST_CASE(VJP_1_the_rule_gets_the_upstream_gradient_and_gives_one_tensor_a_position) {
  Variable a = leaf({1, 2}), b = leaf({3, 4});
  Variable y = passing({a, b}, [](const Tensor& upstream, const auto&) {
    BOOST_TEST(upstream.read<float>()[1] == 7);
    return std::vector{Tensor::from<float>({10, 20}, {2}), Tensor::from<float>({30, 40}, {2})};
  });
  y.backward(Tensor::from<float>({6, 7}, {2}));
  BOOST_TEST(gradient_of(a) == (Values{10, 20}));
  BOOST_TEST(gradient_of(b) == (Values{30, 40}));
}

BOOST_AUTO_TEST_CASE(VJP_2_results_of_a_wrong_count_shape_or_device_change_nothing) {
  Variable a = leaf({1, 2}), b = leaf({3, 4});
  sum(add(a, b)).backward();
  Tensor good = Tensor::full({2}, 1);
  auto refuse = [&](std::vector<Tensor> results, const std::string& fragment) {
    Variable y = passing({a, b}, [results](const Tensor&, const auto&) { return results; });
    Variable younger = leaf({5, 6});
    Variable loss = sum(add(y, multiply(a, younger)));
    check_atomic([&] { check_refused([&] { loss.backward(); }, "VJP-2", fragment); }, {a, b, younger});
  };
  refuse({good}, "gradient of passing: expected 2 tensors, found 1");
  refuse({good, good, good}, "expected 2 tensors, found 3");
  refuse({good, Tensor::full({3}, 1)}, "at position 1: expected [2] on cpu, found [3] on cpu");
  refuse({good, Tensor::full({2}, 1, reference_device)}, "at position 1: expected [2] on cpu, found [2] on reference");
  refuse({good, Tensor()}, "at position 1: expected [2] on cpu, found none");
}

BOOST_AUTO_TEST_CASE(VJP_3_an_exception_of_the_rule_comes_through_unchanged) {
  struct Own {
    int number;
  };
  Variable x = leaf({1});
  Variable y = passing({x}, [](const Tensor&, const auto&) -> std::vector<Tensor> { throw Own{42}; });
  check_atomic([&] { BOOST_CHECK_EXCEPTION(y.backward(), Own, [](const Own& own) { return own.number == 42; }); }, {x});
}

BOOST_AUTO_TEST_CASE(VJP_4_the_same_variable_at_two_positions_gets_both_contributions) {
  Variable x = leaf({1});
  passing({x, x}, [](const Tensor&, const auto&) {
    return std::vector{Tensor::full({1}, 3), Tensor::full({1}, 4)};
  }).backward();
  BOOST_TEST(gradient_of(x) == (Values{7}));
}

BOOST_AUTO_TEST_CASE(VJP_5_an_empty_rule_or_no_inputs_are_refused_when_the_operation_is_made) {
  Variable x = leaf({1});
  Vjp rule = [](const Tensor& upstream, const auto&) { return std::vector{upstream}; };
  check_refused([&] { custom_gradient("own", x.value(), {x}, {}); }, "VJP-5",
                "own: expected a gradient rule and at least one input, found no rule");
  check_refused([&] { custom_gradient("own", x.value(), {}, rule); }, "VJP-5", "found no inputs");
}

BOOST_AUTO_TEST_CASE(VJP_6_without_a_differentiable_input_the_rule_is_dropped) {
  auto held = std::make_shared<int>(1);
  auto rule = [held](const Tensor& upstream, const auto&) { return std::vector{upstream}; };
  Variable data(Tensor::full({1}, 1)), x = leaf({1});
  Variable of_data = passing({data}, rule);
  BOOST_TEST(held.use_count() == 2);
  {
    NoGradScope scope;
    Variable unrecorded = passing({x}, rule);
    BOOST_TEST(held.use_count() == 2);
    BOOST_TEST(!unrecorded.requires_gradient());
  }
  Variable kept = passing({x}, rule);
  BOOST_TEST(held.use_count() == 3);
}

BOOST_AUTO_TEST_SUITE_END()
