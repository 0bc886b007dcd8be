// Contract of log.
#include "autograd/log.hpp"

#include <limits>

#include "numerics/log.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_log_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return log(in[0]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "log", operation, {drawn({size}, 1, 0.25, 4)});
  check_operation(device, "log", operation, {drawn({3, 5, 7}, 2, 0.25, 4)});
  check_operation(device, "log on several threads", operation, {drawn({300, 70}, 2, 0.25, 4)});
}

CONTRACT(NUM_8_log_and_its_gradient_are_the_stated_expressions) {
  Tensor x = drawn({257}, 1, 0.25, 4, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return log(in[0]); }, {x});
  auto value = [](float at) { return numerics::log(at); };
  check_same_bits(each(value, x), found.value, "log");
  check_same_bits(each([](float at, float up) { return up / at; }, x, g), found.gradients[0], "gradient");
}

CONTRACT(NUM_8_log_is_the_oracle_rounded_once) {
  Tensor x = drawn({257}, 5, 0.001, 80, device);
  check_same_bits(log(x.to(reference_device)).value().to(device), log(x).value(), "log");
}

CONTRACT(GRAPH_14_log_of_zeros_negative_numbers_and_NaN) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto y = log(Tensor::from<float>({0.0f, -0.0f, -1, nan, infinity, 1}, {6}, device)).value().read<float>();
  BOOST_TEST(y[0] == -infinity);
  BOOST_TEST(y[1] == -infinity);
  BOOST_TEST(y[2] != y[2]);
  BOOST_TEST(y[3] != y[3]);
  BOOST_TEST(y[4] == infinity);
  BOOST_TEST(ulp_distance(y[5], 0.0f) == 0u);
}
