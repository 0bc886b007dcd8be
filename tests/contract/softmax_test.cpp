// Contract of softmax.
#include "autograd/softmax.hpp"

#include <algorithm>
#include <limits>

#include "numerics/exp.hpp"
#include "numerics/log.hpp"
#include "numerics/order.hpp"
#include "support/formula.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

using Row = std::vector<float>;

Row softmax_exponentials(Row x) {
  float most = *std::max_element(x.begin(), x.end());
  for (float& value : x) value = numerics::exp(value - most);
  return x;
}

float softmax_lanes(const Row& x) {
  return numerics::lane_sum(x.size(), [&](std::size_t i) { return x[i]; });
}

}  // namespace

CONTRACT(CHECK_1_softmax_matches_the_oracle_at_awkward_sizes) {
  Operation operation = [](const auto& in) { return softmax(in[0]); };
  for (std::int64_t size : {0, 1, 31, 32, 33, 257})
    check_operation(device, "softmax", operation, {drawn({3, size}, 1, -3, 3)}, 16);
  check_operation(device, "softmax", operation, {drawn({2, 3, 10}, 2, -3, 3)}, 16);
  check_operation(device, "softmax of a vector", operation, {drawn({7}, 2, -3, 3)}, 16);
  check_operation(device, "softmax on several threads", operation, {drawn({700, 33}, 2, -3, 3)}, 16);
  check_operation(device, "softmax of no rows", operation, {drawn({0, 5}, 2)});
}

CONTRACT(NUM_3_a_row_of_softmax_does_not_depend_on_the_batch) {
  Tensor x = drawn({5, 65}, 1, -3, 3, device);
  Tensor all = softmax(x).value();
  for (std::int64_t row = 0; row < 5; ++row)
    check_same_bits(all.slice(0, row, row + 1), softmax(x.slice(0, row, row + 1)).value(),
                    "row " + std::to_string(row));
}

CONTRACT(NUM_8_softmax_and_its_gradient_are_the_stated_expressions) {
  Tensor x = drawn({5, 77}, 1, -3, 3, device), g = drawn({5, 77}, 99, 0.5, 1.5, device);
  Outcome found = outcome([](const auto& in) { return softmax(in[0]); }, {x});
  auto value = [](const Row& row) {
    Row y = softmax_exponentials(row);
    float sum = softmax_lanes(y);
    for (float& element : y) element = element / sum;
    return y;
  };
  auto gradient = [&](const Row& row, const Row& up) {
    Row y = value(row);
    float dot = numerics::lane_dot(
        y.size(), [&](std::size_t i) { return up[i]; }, [&](std::size_t i) { return y[i]; });
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] * (up[i] - dot);
    return y;
  };
  check_same_bits(each_row(value, x), found.value, "softmax");
  check_same_bits(each_row(gradient, x, g), found.gradients[0], "gradient");
}

CONTRACT(NUM_8_equal_logits_give_exact_shares) {
  for (std::int64_t size : {1, 2, 32, 4096})
    check_same_bits(Tensor::full({2, size}, 1.0 / static_cast<double>(size), device),
                    softmax(Tensor::full({2, size}, 88, device)).value(), "softmax");
}

CONTRACT(GRAPH_14_a_masked_logit_has_no_share_and_a_row_of_them_is_NaN) {
  float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto y =
      softmax(Tensor::from<float>({-infinity, 1000, 1000, -infinity, -infinity, -infinity, 0, nan, 0}, {3, 3}, device))
          .value()
          .read<float>();
  BOOST_TEST(ulp_distance(y[0], 0.0f) == 0u);
  BOOST_TEST(y[1] == 0.5f);
  for (std::int64_t i = 3; i < 9; ++i) BOOST_TEST(y[i] != y[i]);
}

CONTRACT(ACC_4_softmax_refuses_a_scalar) {
  check_refused([&] { softmax(drawn({}, 1, device)); }, "ACC-4", "an axis of []");
}
