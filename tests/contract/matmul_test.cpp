// Contract of matmul.
#include "autograd/matmul.hpp"

#include "autograd/views.hpp"
#include "device/cpu/isa.hpp"
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

BOOST_AUTO_TEST_CASE(NUM_2_and_4_every_build_gives_one_chain_in_blocks_of_512_an_element_whatever_the_strides) {
  std::vector<std::pair<Isa, void (*)(View<const float>, View<const float>, View<float>)>> builds{
      {Isa::baseline, kernels::baseline::matmul}};
  if (isa() != Isa::baseline) builds.emplace_back(Isa::avx2, kernels::avx2::matmul);
  if (isa() == Isa::avx512) builds.emplace_back(Isa::avx512, kernels::avx512::matmul);

  struct Extents {
    std::int64_t rows, columns, depth;
  };
  // Around the tiles (6 and 14 rows; 8, 16 and 32 columns), the blocks, and the sizes from which operands are packed.
  std::vector<Extents> all{{1, 1, 1},    {3, 0, 5},      {0, 4, 5},      {5, 33, 0},
                           {300, 9, 70}, {15, 200, 600}, {29, 2060, 40}, {240, 37, 1030}};
  for (std::int64_t rows : {1, 5, 6, 7, 13, 14, 15, 29})
    for (std::int64_t columns : {1, 7, 8, 15, 17, 31, 33, 47, 64, 65, 130})
      all.push_back({rows, columns, 5 + columns % 3});

  for (const Extents& e : all)
    for (bool left_turned : {false, true})
      for (bool right_turned : {false, true}) {
        Tensor a = left_turned ? drawn({e.depth, e.rows}, 1).transpose(0, 1) : drawn({e.rows, e.depth}, 1);
        Tensor b = right_turned ? drawn({e.columns, e.depth}, 2).transpose(0, 1) : drawn({e.depth, e.columns}, 2);
        auto x = a.read<float>(), y = b.read<float>();
        std::vector<float> chains(static_cast<std::size_t>(e.rows * e.columns));
        for (std::size_t i = 0; i < chains.size(); ++i) {
          std::int64_t row = static_cast<std::int64_t>(i) / e.columns,
                       column = static_cast<std::int64_t>(i) % e.columns;
          chains[i] = numerics::chain_dot(
              0, static_cast<std::size_t>(e.depth),
              [&](std::size_t k) { return x[row * e.depth + static_cast<std::int64_t>(k)]; },
              [&](std::size_t k) { return y[static_cast<std::int64_t>(k) * e.columns + column]; });
        }
        Tensor expected = Tensor::from(chains, {e.rows, e.columns});
        for (auto& [build, multiply] : builds) {
          Tensor found = Tensor::full({e.rows, e.columns}, 777);
          multiply(a.view<float>(), b.view<float>(), found.write_view<float>());
          check_same_bits(expected, found,
                          to_string(build) + ", " + to_string(a.shape()) + (left_turned ? " turned" : "") + " by " +
                              to_string(b.shape()) + (right_turned ? " turned" : ""));
        }
      }
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
