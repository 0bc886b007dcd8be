// Contract of maximum.
#include "autograd/maximum.hpp"

#include <limits>

#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

const float nan_ = std::numeric_limits<float>::quiet_NaN();

// The places that the gradient of a row reaches.
std::vector<float> reached(const std::vector<float>& row, Device device) {
  Variable x = Variable::leaf(Tensor::from(row, {static_cast<std::int64_t>(row.size())}, device));
  maximum(x, 0).backward();
  auto gradient = x.gradient().read<float>();
  return {gradient.begin(), gradient.end()};
}

}  // namespace

CONTRACT(CHECK_1_maximum_matches_the_oracle_over_any_axis) {
  for (int axis : {0, 1, 2, -1})
    check_operation(
        device, "maximum", [=](const auto& in) { return maximum(in[0], axis); }, {drawn({3, 5, 7}, 1)}, 0);
  for (std::int64_t size : {1, 31, 32, 33, 257})
    check_operation(
        device, "maximum", [](const auto& in) { return maximum(in[0], 0); }, {drawn({size}, 1)}, 0);
  check_operation(
      device, "maximum on several threads", [](const auto& in) { return maximum(in[0], 0); }, {drawn({33, 700}, 1)}, 0,
      true);
  check_operation(
      device, "maximum of no rows", [](const auto& in) { return maximum(in[0], 1); }, {drawn({0, 3}, 1)}, 0);
}

CONTRACT(NUM_8_a_tie_gives_its_gradient_to_the_lowest_index) {
  BOOST_TEST(reached({1, 7, 7, 2}, device) == (std::vector<float>{0, 1, 0, 0}));
  std::vector<float> row(40, -3), expected(40);
  row[33] = row[37] = 5;
  expected[33] = 1;
  BOOST_TEST(reached(row, device) == expected);
}

CONTRACT(GRAPH_14_a_NaN_wins_and_the_first_one_takes_the_gradient) {
  float infinity = std::numeric_limits<float>::infinity();
  BOOST_TEST(reached({infinity, nan_, 2, nan_}, device) == (std::vector<float>{0, 1, 0, 0}));
  for (std::size_t place : {0u, 15u, 16u, 35u}) {
    std::vector<float> row(36, infinity);
    row[place] = nan_;
    double y = maximum(Tensor::from(row, {36}, device), 0).value().item();
    BOOST_TEST(y != y);
  }
}

CONTRACT(GRAPH_14_positive_zero_is_above_negative_zero) {
  BOOST_TEST(ulp_distance(maximum(Tensor::from<float>({-0.0f, 0.0f, -0.0f}, {3}, device), 0).value().read<float>()[0],
                          0.0f) == 0u);
  BOOST_TEST(
      ulp_distance(maximum(Tensor::from<float>({-0.0f, -0.0f}, {2}, device), 0).value().read<float>()[0], -0.0f) == 0u);
  BOOST_TEST(reached({-0.0f, 0.0f, 0.0f}, device) == (std::vector<float>{0, 1, 0}));
  BOOST_TEST(reached({-1, -0.0f, -0.0f}, device) == (std::vector<float>{0, 1, 0}));
}

CONTRACT(ACC_4_maximum_refuses_an_axis_without_elements_or_that_does_not_exist) {
  check_refused([&] { maximum(drawn({2, 0}, 1, device), 1); }, "ACC-4", "expected at least one element, found [2, 0]");
  check_refused([&] { maximum(drawn({2, 3}, 1, device), 2); }, "ACC-4", "expected an axis of [2, 3], found 2");
}
