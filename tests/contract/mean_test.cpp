// Contract of mean.
#include "autograd/mean.hpp"

#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_mean_matches_the_oracle_over_any_axes) {
  for (const std::vector<int>& axes : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 2}, {-1, 0}, {0, 1, 2}, {}})
    check_operation(
        device, "mean", [&](const auto& in) { return mean(in[0], axes); }, {drawn({5, 4, 33}, 1, 0.5, 1)}, 16);
  for (std::int64_t size : {1, 31, 32, 33, 257})
    check_operation(
        device, "mean", [](const auto& in) { return mean(in[0]); }, {drawn({size}, 1, 0.5, 1)}, 16);
}

CONTRACT(NUM_8_mean_is_the_sum_divided_by_the_count) {
  Tensor x = drawn({7, 33}, 1, device);
  auto sums = sum(x, {1}).value().read<float>(), means = mean(x, {1}).value().read<float>();
  for (std::int64_t row = 0; row < 7; ++row) BOOST_TEST(means[row] == sums[row] / 33.0f);
  Variable leaf = Variable::leaf(x);
  mean(leaf).backward();
  check_same_bits(Tensor::full({7, 33}, 1.0f / 231.0f, device), leaf.gradient(), "gradient");
}

CONTRACT(NUM_8_means_that_every_order_gives_exactly_equal_the_oracle) {
  Tensor x = whole_numbers({64, 16}, 1, 100, device);
  check_same_bits(mean(x.to(reference_device), {0}).value().to(device), mean(x, {0}).value(), "mean of columns");
  check_same_bits(mean(x.to(reference_device)).value().to(device), mean(x).value(), "mean of all");
}

CONTRACT(GRAPH_14_a_mean_of_no_elements_is_NaN) {
  auto y = mean(drawn({2, 0}, 1, device), {1}).value().read<float>();
  BOOST_TEST(y[0] != y[0]);
  BOOST_TEST(y[1] != y[1]);
}

CONTRACT(ACC_4_mean_refuses_an_axis_that_does_not_exist) {
  check_refused([&] { mean(drawn({2, 3}, 1, device), {2}); }, "ACC-4", "expected an axis of [2, 3], found 2");
}
