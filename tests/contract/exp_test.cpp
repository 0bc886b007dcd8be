// Contract of exp.
#include "autograd/exp.hpp"

#include <limits>

#include "numerics/exp.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_exp_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return exp(in[0]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "exp", operation, {drawn({size}, 1, -2, 2)});
  check_operation(device, "exp", operation, {drawn({3, 5, 7}, 2, -2, 2)});
  check_operation(device, "exp on several threads", operation, {drawn({300, 70}, 2, -2, 2)});
}

CONTRACT(NUM_8_exp_and_its_gradient_are_the_stated_expressions) {
  Tensor x = drawn({257}, 1, -2, 2, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return exp(in[0]); }, {x});
  auto value = [](float at) { return numerics::exp(at); };
  check_same_bits(each(value, x), found.value, "exp");
  check_same_bits(each([&](float at, float up) { return up * value(at); }, x, g), found.gradients[0], "gradient");
}

CONTRACT(NUM_8_exp_is_the_oracle_rounded_once) {
  Tensor x = drawn({257}, 5, -80, 80, device);
  check_same_bits(exp(x.to(reference_device)).value().to(device), exp(x).value(), "exp");
}

CONTRACT(GRAPH_14_exp_of_infinities_zeros_and_NaN) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto y = exp(Tensor::from<float>({infinity, -infinity, -0.0f, nan, 89}, {5}, device)).value().read<float>();
  BOOST_TEST(y[0] == infinity);
  BOOST_TEST(ulp_distance(y[1], 0.0f) == 0u);
  BOOST_TEST(y[2] == 1);
  BOOST_TEST(y[3] != y[3]);
  BOOST_TEST(y[4] == infinity);
}
