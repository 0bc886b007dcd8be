// Contract of sigmoid.
#include "autograd/sigmoid.hpp"

#include <limits>

#include "numerics/sigmoid.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_sigmoid_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return sigmoid(in[0]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "sigmoid", operation, {drawn({size}, 1, -4, 4)});
  check_operation(device, "sigmoid", operation, {drawn({3, 5, 7}, 2, -4, 4)});
  check_operation(device, "sigmoid on several threads", operation, {drawn({300, 70}, 2, -4, 4)});
}

CONTRACT(NUM_8_sigmoid_and_its_gradient_are_the_stated_expressions) {
  Tensor x = drawn({257}, 1, -4, 4, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return sigmoid(in[0]); }, {x});
  auto value = [](float at) { return numerics::sigmoid(at); };
  check_same_bits(each(value, x), found.value, "sigmoid");
  check_same_bits(each([&](float at, float up) { return up * (value(at) * (1.0f - value(at))); }, x, g),
                  found.gradients[0], "gradient");
}

CONTRACT(NUM_8_sigmoid_is_the_oracle_rounded_once) {
  Tensor x = drawn({257}, 5, -20, 20, device);
  check_same_bits(sigmoid(x.to(reference_device)).value().to(device), sigmoid(x).value(), "sigmoid");
}

CONTRACT(GRAPH_14_sigmoid_of_infinities_zeros_and_NaN) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto y = sigmoid(Tensor::from<float>({infinity, -infinity, -0.0f, nan}, {4}, device)).value().read<float>();
  BOOST_TEST(y[0] == 1);
  BOOST_TEST(ulp_distance(y[1], 0.0f) == 0u);
  BOOST_TEST(y[2] == 0.5);
  BOOST_TEST(y[3] != y[3]);
}
