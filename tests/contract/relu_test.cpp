// Contract of relu.
#include "autograd/relu.hpp"

#include <limits>

#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_relu_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return relu(in[0]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "relu", operation, {drawn({size}, 1)}, 0, true);
  check_operation(device, "relu", operation, {drawn({3, 5, 7}, 2, 0.1, 1)}, 0);
  check_operation(device, "relu split over threads", operation, {drawn({300, 70}, 3)}, 0, true);
}

CONTRACT(GRAPH_14_relu_keeps_NaN_and_gives_positive_zero) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  auto y = relu(Tensor::from<float>({nan, -0.0f, -1, 2}, {4}, device)).value().read<float>();
  BOOST_TEST(y[0] != y[0]);
  BOOST_TEST(ulp_distance(y[1], 0.0f) == 0u);
  BOOST_TEST(y[2] == 0);
  BOOST_TEST(y[3] == 2);
}
