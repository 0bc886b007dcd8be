// Contract of multiply.
#include "autograd/multiply.hpp"

#include <limits>

#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(GRAPH_11_multiply_broadcasts_as_numpy_does_and_its_gradients_sum_back) {
  Operation operation = [](const auto& in) { return multiply(in[0], in[1]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "multiply", operation, {drawn({size}, 1), drawn({size}, 2, -1, 1)});
  check_operation(device, "multiply by a row", operation, {drawn({4, 33}, 1), drawn({33}, 2, -1, 1)}, 16);
  check_operation(device, "multiply by a column", operation, {drawn({5, 1}, 1), drawn({2, 5, 7}, 2, -1, 1)}, 16);
  check_operation(device, "multiply by a scalar", operation, {drawn({5, 6}, 1), drawn({}, 2, -1, 1)}, 16);
  check_operation(device, "multiply of nothing", operation, {drawn({0, 3}, 1), drawn({3}, 2, -1, 1)});
  check_operation(device, "multiply on several threads", operation, {drawn({300, 70}, 1), drawn({70}, 2, -1, 1)}, 64);
}

CONTRACT(NUM_8_multiply_and_its_gradients_are_the_stated_expressions) {
  Tensor a = drawn({257}, 1, device), b = drawn({257}, 2, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return multiply(in[0], in[1]); }, {a, b});
  check_same_bits(each([](float x, float y) { return x * y; }, a, b), found.value, "multiply");
  check_same_bits(each([](float x, float y, float up) { return static_cast<void>(x), up * y; }, a, b, g),
                  found.gradients[0], "gradient of a");
  check_same_bits(each([](float x, float y, float up) { return static_cast<void>(y), up * x; }, a, b, g),
                  found.gradients[1], "gradient of b");
}

CONTRACT(NUM_8_products_of_whole_numbers_equal_the_oracle_in_value_and_gradient) {
  Tensor a = whole_numbers({33, 5}, 1, 1000, device), b = whole_numbers({5}, 2, 1000, device);
  Variable x = Variable::leaf(a), y = Variable::leaf(b), wide_x = Variable::leaf(a.to(reference_device)),
           wide_y = Variable::leaf(b.to(reference_device));
  Variable found = multiply(x, y), oracle = multiply(wide_x, wide_y);
  found.backward(Tensor::full({33, 5}, 2, device));
  oracle.backward(Tensor::full({33, 5}, 2, reference_device));
  check_same_bits(oracle.value().to(device), found.value(), "multiply");
  check_same_bits(wide_x.gradient().to(device), x.gradient(), "gradient of a");
  check_same_bits(wide_y.gradient().to(device), y.gradient(), "gradient of b");
}

CONTRACT(GRAPH_14_zero_times_infinity_is_NaN_and_signs_multiply) {
  float infinity = std::numeric_limits<float>::infinity();
  auto y = multiply(Tensor::from<float>({0.0f, -0.0f, -2.0f}, {3}, device),
                    Tensor::from<float>({infinity, 3.0f, 0.0f}, {3}, device))
               .value()
               .read<float>();
  BOOST_TEST(y[0] != y[0]);
  BOOST_TEST(ulp_distance(y[1], -0.0f) == 0u);
  BOOST_TEST(ulp_distance(y[2], -0.0f) == 0u);
}

CONTRACT(GRAPH_7_an_operand_of_multiply_that_is_data_costs_no_gradient) {
  Variable a = Variable::leaf(drawn({2, 3}, 1, device)), b(drawn({2, 3}, 2, device));
  multiply(a, b).backward(drawn({2, 3}, 3, device));
  multiply(b, a).backward(drawn({2, 3}, 3, device));
  BOOST_TEST(a.has_pending_gradient());
  BOOST_TEST(!b.has_pending_gradient());
}

CONTRACT(GRAPH_11_multiply_refuses_shapes_that_do_not_broadcast) {
  check_refused(
      [&] {
        multiply(drawn({2, 3}, 1, device), drawn({2}, 2, device));
      },
      "GRAPH-11", "multiply: expected shapes that broadcast, found [2, 3] and [2]");
}

CONTRACT(GRAPH_13_multiply_refuses_operands_on_two_devices) {
  check_refused([&] { multiply(drawn({2}, 1, device), drawn({2}, 2, reference_device)); }, "GRAPH-13",
                to_string(device) + " and reference");
}
