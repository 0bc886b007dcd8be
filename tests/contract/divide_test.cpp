// Contract of divide.
#include "autograd/divide.hpp"

#include <limits>

#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(GRAPH_11_divide_broadcasts_as_numpy_does_and_its_gradients_sum_back) {
  Operation operation = [](const auto& in) { return divide(in[0], in[1]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "divide", operation, {drawn({size}, 1), drawn({size}, 2, 0.5, 2)});
  check_operation(device, "divide by a row", operation, {drawn({4, 33}, 1), drawn({33}, 2, 0.5, 2)}, 16);
  check_operation(device, "divide by a column", operation, {drawn({5, 1}, 1), drawn({2, 5, 7}, 2, 0.5, 2)}, 16);
  check_operation(device, "divide by a scalar", operation, {drawn({5, 6}, 1), drawn({}, 2, 0.5, 2)}, 16);
  check_operation(device, "divide of nothing", operation, {drawn({0, 3}, 1), drawn({3}, 2, 0.5, 2)});
  check_operation(device, "divide on several threads", operation, {drawn({300, 70}, 1), drawn({70}, 2, 0.5, 2)}, 64);
}

CONTRACT(NUM_8_divide_and_its_gradients_are_the_stated_expressions) {
  Tensor a = drawn({257}, 1, device), b = drawn({257}, 2, 0.5, 2, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return divide(in[0], in[1]); }, {a, b});
  check_same_bits(each([](float x, float y) { return x / y; }, a, b), found.value, "divide");
  check_same_bits(each([](float x, float y, float up) { return static_cast<void>(x), up / y; }, a, b, g),
                  found.gradients[0], "gradient of a");
  check_same_bits(each([](float x, float y, float up) { return -((up * (x / y)) / y); }, a, b, g), found.gradients[1],
                  "gradient of b");
}

CONTRACT(NUM_8_quotients_by_powers_of_two_equal_the_oracle) {
  Tensor a = whole_numbers({33, 5}, 1, 1000, device), b = Tensor::from<float>({1, 2, 4, -8, 1024}, {5}, device);
  Tensor oracle = divide(a.to(reference_device), b.to(reference_device)).value();
  check_same_bits(oracle.to(device), divide(a, b).value(), "divide");
}

CONTRACT(GRAPH_14_division_by_zero_follows_IEEE) {
  auto y = divide(Tensor::from<float>({1, -1, 0}, {3}, device), Tensor::from<float>({0.0f, 0.0f, 0.0f}, {3}, device))
               .value()
               .read<float>();
  BOOST_TEST(y[0] == std::numeric_limits<float>::infinity());
  BOOST_TEST(y[1] == -std::numeric_limits<float>::infinity());
  BOOST_TEST(y[2] != y[2]);
}

CONTRACT(GRAPH_7_an_operand_of_divide_that_is_data_costs_no_gradient) {
  Variable a = Variable::leaf(drawn({2, 3}, 1, device)), b(drawn({2, 3}, 2, 0.5, 2, device));
  divide(a, b).backward(drawn({2, 3}, 3, device));
  divide(b, a).backward(drawn({2, 3}, 3, device));
  BOOST_TEST(a.has_pending_gradient());
  BOOST_TEST(!b.has_pending_gradient());
}

CONTRACT(GRAPH_11_divide_refuses_shapes_that_do_not_broadcast) {
  check_refused(
      [&] {
        divide(drawn({2, 3}, 1, device), drawn({2}, 2, device));
      },
      "GRAPH-11", "divide: expected shapes that broadcast, found [2, 3] and [2]");
}

CONTRACT(GRAPH_13_divide_refuses_operands_on_two_devices) {
  check_refused([&] { divide(drawn({2}, 1, device), drawn({2}, 2, reference_device)); }, "GRAPH-13",
                to_string(device) + " and reference");
}
