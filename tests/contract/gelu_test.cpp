// Contract of gelu.
#include "autograd/gelu.hpp"

#include <limits>

#include "numerics/erf.hpp"
#include "numerics/exp.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_gelu_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return gelu(in[0]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "gelu", operation, {drawn({size}, 1, -3, 3)});
  check_operation(device, "gelu", operation, {drawn({3, 5, 7}, 2, -3, 3)});
  check_operation(device, "gelu on several threads", operation, {drawn({300, 70}, 2, -3, 3)});
}

CONTRACT(NUM_8_gelu_and_its_gradient_are_the_stated_expressions) {
  Tensor x = drawn({257}, 1, -3, 3, device), g = drawn({257}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return gelu(in[0]); }, {x});
  auto value = [](float at) { return (0.5f * at) * (1.0f + numerics::erf(at * 0x1.6a09e6p-1f)); };
  check_same_bits(each(value, x), found.value, "gelu");
  auto slope = [](float at, float up) {
    float below = 0.5f * (1.0f + numerics::erf(at * 0x1.6a09e6p-1f));
    return up * (below + at * (0x1.988454p-2f * numerics::exp(-0.5f * (at * at))));
  };
  check_same_bits(each(slope, x, g), found.gradients[0], "gradient");
}

CONTRACT(GRAPH_14_gelu_of_infinities_zeros_and_NaN) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  Variable x = Variable::leaf(Tensor::from<float>({infinity, -infinity, -0.0f, nan, 1e30f}, {5}, device));
  Variable result = gelu(x);
  result.backward(Tensor::full({5}, 1, device));
  auto y = result.value().read<float>(), gradient = x.gradient().read<float>();
  BOOST_TEST(y[0] == infinity);
  BOOST_TEST(y[1] != y[1]);
  BOOST_TEST(ulp_distance(y[2], -0.0f) == 0u);
  BOOST_TEST(y[3] != y[3]);
  BOOST_TEST(y[4] == 1e30f);
  BOOST_TEST(gradient[0] != gradient[0]);
  BOOST_TEST(gradient[1] != gradient[1]);
  BOOST_TEST(gradient[2] == 0.5f);
  BOOST_TEST(gradient[4] == 1);
}
