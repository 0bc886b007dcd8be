// Contract of tanh.
#include "autograd/tanh.hpp"

#include <limits>

#include "numerics/tanh.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_tanh_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return tanh(in[0]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "tanh", operation, {drawn({size}, 1, -1, 1)});
  check_operation(device, "tanh", operation, {drawn({3, 5, 7}, 2, -1, 1)});
  check_operation(device, "tanh on several threads", operation, {drawn({300, 70}, 2, -1, 1)});
}

CONTRACT(NUM_8_tanh_and_its_gradient_are_the_stated_expressions) {
  Tensor x = drawn({257}, 1, -3, 3, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return tanh(in[0]); }, {x});
  auto value = [](float at) { return numerics::tanh(at); };
  check_same_bits(each(value, x), found.value, "tanh");
  check_same_bits(each([&](float at, float up) { return up * (1.0f - value(at) * value(at)); }, x, g),
                  found.gradients[0], "gradient");
}

CONTRACT(NUM_8_tanh_is_the_oracle_rounded_once) {
  Tensor x = drawn({257}, 5, -10, 10, device);
  check_same_bits(tanh(x.to(reference_device)).value().to(device), tanh(x).value(), "tanh");
}

CONTRACT(GRAPH_14_tanh_of_infinities_zeros_and_NaN) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto y = tanh(Tensor::from<float>({infinity, -infinity, -0.0f, nan}, {4}, device)).value().read<float>();
  BOOST_TEST(y[0] == 1);
  BOOST_TEST(y[1] == -1);
  BOOST_TEST(ulp_distance(y[2], -0.0f) == 0u);
  BOOST_TEST(y[3] != y[3]);
}
