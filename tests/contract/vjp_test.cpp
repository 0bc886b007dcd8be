// Contract of custom_gradient, with which every operation is made.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "autograd/ops.hpp"
#include "support/contract.hpp"
#include "support/graphs.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(VJP_1_the_rule_gets_the_upstream_gradient_and_gives_one_tensor_a_position) {
  Variable a = leaf({1, 2}, device), b = leaf({3, 4}, device);
  Variable y = passing({a, b}, [device](const Tensor& upstream, const auto&) {
    BOOST_TEST(upstream.read<float>()[1] == 7);
    return std::vector{Tensor::from<float>({10, 20}, {2}, device), Tensor::from<float>({30, 40}, {2}, device)};
  });
  y.backward(Tensor::from<float>({6, 7}, {2}, device));
  BOOST_TEST(gradient_of(a) == (Values{10, 20}));
  BOOST_TEST(gradient_of(b) == (Values{30, 40}));
}

CONTRACT(VJP_2_results_of_a_wrong_count_shape_type_or_device_change_nothing) {
  Variable a = leaf({1, 2}, device), b = leaf({3, 4}, device);
  sum(add(a, b)).backward();
  Tensor good = Tensor::full({2}, 1, device);
  auto refuse = [&](std::vector<Tensor> results, const std::string& fragment) {
    Variable y = passing({a, b}, [results](const Tensor&, const auto&) { return results; });
    Variable younger = leaf({5, 6}, device);
    Variable loss = sum(add(y, multiply(a, younger)));
    check_atomic([&] { check_refused([&] { loss.backward(); }, "VJP-2", fragment); }, {a, b, younger});
  };
  refuse({good}, "gradient of passing: expected 2 tensors, found 1");
  refuse({good, good, good}, "expected 2 tensors, found 3");
  const std::string wanted = "at position 1: expected float32 [2] on " + to_string(device) + ", found ";
  refuse({good, Tensor::full({3}, 1, device)}, wanted + "float32 [3] on " + to_string(device));
  refuse({good, Tensor::from<std::int32_t>({1, 1}, {2}, device)}, wanted + "int32 [2] on " + to_string(device));
  refuse({good, Tensor::full({2}, 1, reference_device)}, wanted + "float64 [2] on reference");
  refuse({good, Tensor()}, wanted + "none");
}

CONTRACT(VJP_3_an_exception_of_the_rule_comes_through_unchanged) {
  struct Own {
    int number;
  };
  Variable x = leaf({1}, device);
  Variable y = passing({x}, [](const Tensor&, const auto&) -> std::vector<Tensor> { throw Own{42}; });
  Variable younger = leaf({2}, device);
  Variable loss = multiply(y, younger);
  check_atomic([&] { BOOST_CHECK_EXCEPTION(loss.backward(), Own, [](const Own& own) { return own.number == 42; }); },
               {x, younger});
}

CONTRACT(VJP_4_the_same_variable_at_two_positions_gets_both_contributions) {
  Variable x = leaf({1}, device);
  passing({x, x}, [device](const Tensor&, const auto&) {
    return std::vector{Tensor::full({1}, 3, device), Tensor::full({1}, 4, device)};
  }).backward();
  BOOST_TEST(gradient_of(x) == (Values{7}));
}

CONTRACT(VJP_5_an_empty_rule_or_no_inputs_are_refused_when_the_operation_is_made) {
  Variable x = leaf({1}, device);
  Vjp rule = [](const Tensor& upstream, const auto&) { return std::vector{upstream}; };
  check_refused([&] { custom_gradient("own", x.value(), {x}, {}); }, "VJP-5",
                "own: expected a gradient rule and at least one input, found no rule");
  check_refused([&] { custom_gradient("own", x.value(), {}, rule); }, "VJP-5", "found no inputs");
}

CONTRACT(VJP_6_without_a_differentiable_input_the_rule_is_dropped) {
  auto held = std::make_shared<int>(1);
  auto rule = [held](const Tensor& upstream, const auto&) { return std::vector{upstream}; };
  Variable data(Tensor::full({1}, 1, device)), x = leaf({1}, device);
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

BOOST_AUTO_TEST_CASE(VJP_7_no_public_header_of_the_graph_names_a_friend_or_includes_the_graph) {
  namespace fs = std::filesystem;
  int headers = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_SOURCE_ROOT) / "src/autograd")) {
    if (entry.path().extension() != ".hpp" || entry.path().filename() == "graph.hpp") continue;
    std::ifstream file(entry.path());
    std::string text(std::istreambuf_iterator<char>(file), {});
    ++headers;
    BOOST_TEST(text.find("autograd/graph.hpp") == std::string::npos, entry.path());
    BOOST_TEST(text.find("custom_gradient(const char*, Tensor") == std::string::npos, entry.path());
    if (entry.path().filename() != "parameter.hpp") BOOST_TEST(text.find("friend") == std::string::npos, entry.path());
  }
  BOOST_TEST(headers > 20);
}
