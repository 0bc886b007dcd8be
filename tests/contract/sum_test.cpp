// Contract of sum.
#include "autograd/sum.hpp"

#include "numerics/order.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_sum_matches_the_oracle_over_any_axes) {
  for (const std::vector<int>& axes :
       std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1}, {-1}, {0, 1, 2}, {}})
    check_operation(
        device, "sum", [&](const auto& in) { return sum(in[0], axes); }, {drawn({5, 4, 33}, 1)}, 16);
  check_operation(device, "sum of nothing", [](const auto& in) { return sum(in[0], {1}); }, {drawn({3, 0}, 1)});
}

CONTRACT(NUM_4_the_last_axis_is_added_in_lane_order_and_others_in_chain_order) {
  Tensor x = drawn({1025, 37}, 3, device);
  auto all = x.read<float>();
  auto rows = sum(x, {1}).value().read<float>(), columns = sum(x, {0}).value().read<float>();
  for (std::size_t row : {0u, 1024u})
    BOOST_TEST(rows[static_cast<std::int64_t>(row)] ==
               numerics::lane_sum(37, [&](std::size_t i) { return all[static_cast<std::int64_t>(37 * row + i)]; }));
  for (std::size_t column : {0u, 36u})
    BOOST_TEST(columns[static_cast<std::int64_t>(column)] == numerics::chain_sum(0, 1025, [&](std::size_t k) {
                 return all[static_cast<std::int64_t>(37 * k + column)];
               }));
  BOOST_TEST(sum(x).value().item() ==
             numerics::lane_sum(1025 * 37, [&](std::size_t i) { return all[static_cast<std::int64_t>(i)]; }));
}

CONTRACT(ACC_4_sum_refuses_an_axis_that_does_not_exist_or_comes_twice) {
  check_refused([&] { sum(drawn({2, 3}, 1, device), {2}); }, "ACC-4", "axis");
  check_refused([&] { sum(drawn({2, 3}, 1, device), {1, -1}); }, "ACC-4", "twice");
}
