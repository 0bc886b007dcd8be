// Contract of subtract.
#include "autograd/subtract.hpp"

#include <limits>

#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(GRAPH_11_subtract_broadcasts_as_numpy_does_and_its_gradients_sum_back) {
  Operation operation = [](const auto& in) { return subtract(in[0], in[1]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "subtract", operation, {drawn({size}, 1), drawn({size}, 2, -1, 1)});
  check_operation(device, "subtract by a row", operation, {drawn({4, 33}, 1), drawn({33}, 2, -1, 1)}, 16);
  check_operation(device, "subtract by a column", operation, {drawn({5, 1}, 1), drawn({2, 5, 7}, 2, -1, 1)}, 16);
  check_operation(device, "subtract by a scalar", operation, {drawn({5, 6}, 1), drawn({}, 2, -1, 1)}, 16);
  check_operation(device, "subtract of nothing", operation, {drawn({0, 3}, 1), drawn({3}, 2, -1, 1)});
  check_operation(device, "subtract on several threads", operation, {drawn({300, 70}, 1), drawn({70}, 2, -1, 1)}, 64);
}

CONTRACT(NUM_8_subtract_and_its_gradients_are_the_stated_expressions) {
  Tensor a = drawn({257}, 1, device), b = drawn({257}, 2, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return subtract(in[0], in[1]); }, {a, b});
  check_same_bits(each([](float x, float y) { return x - y; }, a, b), found.value, "subtract");
  check_same_bits(
      each([](float x, float y, float up) { return static_cast<void>(x), static_cast<void>(y), up; }, a, b, g),
      found.gradients[0], "gradient of a");
  check_same_bits(
      each([](float x, float y, float up) { return static_cast<void>(x), static_cast<void>(y), -up; }, a, b, g),
      found.gradients[1], "gradient of b");
}

CONTRACT(NUM_8_differences_of_whole_numbers_equal_the_oracle) {
  Tensor a = whole_numbers({33, 5}, 1, 1000, device), b = whole_numbers({5}, 2, 1000, device);
  Tensor oracle = subtract(a.to(reference_device), b.to(reference_device)).value();
  check_same_bits(oracle.to(device), subtract(a, b).value(), "subtract");
}

CONTRACT(GRAPH_14_the_sign_of_zero_follows_IEEE) {
  float infinity = std::numeric_limits<float>::infinity();
  auto y = subtract(Tensor::from<float>({0.0f, -0.0f, infinity}, {3}, device),
                    Tensor::from<float>({0.0f, 0.0f, infinity}, {3}, device))
               .value()
               .read<float>();
  BOOST_TEST(ulp_distance(y[0], 0.0f) == 0u);
  BOOST_TEST(ulp_distance(y[1], -0.0f) == 0u);
  BOOST_TEST(y[2] != y[2]);
}

CONTRACT(GRAPH_7_an_operand_of_subtract_that_is_data_costs_no_gradient) {
  Variable a = Variable::leaf(drawn({2, 3}, 1, device)), b(drawn({2, 3}, 2, device));
  subtract(a, b).backward(drawn({2, 3}, 3, device));
  subtract(b, a).backward(drawn({2, 3}, 3, device));
  BOOST_TEST(a.has_pending_gradient());
  BOOST_TEST(!b.has_pending_gradient());
}

CONTRACT(GRAPH_11_subtract_refuses_shapes_that_do_not_broadcast) {
  check_refused(
      [&] {
        subtract(drawn({2, 3}, 1, device), drawn({2}, 2, device));
      },
      "GRAPH-11", "subtract: expected shapes that broadcast, found [2, 3] and [2]");
}

CONTRACT(GRAPH_13_subtract_refuses_operands_on_two_devices) {
  check_refused([&] { subtract(drawn({2}, 1, device), drawn({2}, 2, reference_device)); }, "GRAPH-13",
                to_string(device) + " and reference");
}
