// Contract of matmul.
#include "autograd/matmul.hpp"

#include "autograd/views.hpp"
#include "numerics/order.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

BOOST_AUTO_TEST_SUITE(matmul_op)

BOOST_AUTO_TEST_CASE(CHECK_1_matmul_matches_the_oracle_in_four_transpose_forms) {
  check_operation(
      "NN", [](const auto& in) { return matmul(in[0], in[1]); }, {drawn({5, 33}, 1), drawn({33, 7}, 2)}, 16);
  check_operation(
      "NT", [](const auto& in) { return matmul(in[0], transpose(in[1], 0, 1)); },
      {drawn({5, 33}, 1), drawn({65, 33}, 2)}, 16);
  check_operation(
      "TN", [](const auto& in) { return matmul(transpose(in[0], 0, 1), in[1]); },
      {drawn({33, 4}, 1), drawn({33, 64}, 2)}, 16);
  check_operation(
      "TT", [](const auto& in) { return matmul(transpose(in[0], 0, 1), transpose(in[1], 0, 1)); },
      {drawn({31, 5}, 1), drawn({3, 31}, 2)}, 16);
  check_operation(
      "split over threads", [](const auto& in) { return matmul(in[0], in[1]); },
      {drawn({61, 530}, 1), drawn({530, 67}, 2)}, 64);
  check_operation("no depth", [](const auto& in) { return matmul(in[0], in[1]); },
                  {drawn({2, 0}, 1), drawn({0, 3}, 2)});
}

BOOST_AUTO_TEST_CASE(NUM_4_every_element_is_one_chain_in_blocks_of_512) {
  Tensor a = drawn({3, 1100}, 1), b = drawn({1100, 70}, 2);
  auto x = a.read<float>(), y = b.read<float>(), c = matmul(a, b).value().read<float>();
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t column = 0; column < 70; ++column)
      BOOST_TEST(c[row * 70 + column] ==
                 numerics::chain_dot(
                     0, 1100, [&](std::size_t k) { return x[row * 1100 + static_cast<std::int64_t>(k)]; },
                     [&](std::size_t k) { return y[static_cast<std::int64_t>(k) * 70 + column]; }));
}

BOOST_AUTO_TEST_CASE(NUM_8_products_that_every_order_gives_exactly_equal_the_oracle) {
  Tensor a = whole_numbers({17, 600}, 1, 8), b = whole_numbers({600, 65}, 2, 8);
  Tensor oracle = matmul(a.to(reference_device), b.to(reference_device)).value();
  check_same_bits(oracle.to(cpu), matmul(a, b).value(), "matmul of whole numbers");
}

BOOST_AUTO_TEST_CASE(NUM_3_a_row_of_the_result_does_not_depend_on_the_batch) {
  Tensor a = drawn({9, 130}, 1), b = drawn({130, 20}, 2);
  Tensor all = matmul(a, b).value();
  for (std::int64_t row = 0; row < 9; ++row)
    check_same_bits(all.slice(0, row, row + 1), matmul(a.slice(0, row, row + 1), b).value(),
                    "row " + std::to_string(row));
}

BOOST_AUTO_TEST_CASE(ACC_4_shapes_that_do_not_match_are_refused) {
  check_refused([] { matmul(drawn({2, 3}, 1), drawn({4, 2}, 2)); }, "ACC-4", "[2, 3] and [4, 2]");
}

BOOST_AUTO_TEST_SUITE_END()
