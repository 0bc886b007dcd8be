// Contract of matmul.
#include "autograd/matmul.hpp"

#include "autograd/views.hpp"
#include "support/builds.hpp"
#include "support/operation.hpp"
#include "support/plain_loops.hpp"

using namespace assay;
using namespace assay::test;

CONTRACT(CHECK_1_matmul_matches_the_oracle_in_four_transpose_forms) {
  check_operation(
      device, "NN", [](const auto& in) { return matmul(in[0], in[1]); }, {drawn({5, 33}, 1), drawn({33, 7}, 2)}, 16);
  check_operation(
      device, "NT", [](const auto& in) { return matmul(in[0], transpose(in[1], 0, 1)); },
      {drawn({5, 33}, 1), drawn({65, 33}, 2)}, 16);
  check_operation(
      device, "TN", [](const auto& in) { return matmul(transpose(in[0], 0, 1), in[1]); },
      {drawn({33, 4}, 1), drawn({33, 64}, 2)}, 16);
  check_operation(
      device, "TT", [](const auto& in) { return matmul(transpose(in[0], 0, 1), transpose(in[1], 0, 1)); },
      {drawn({31, 5}, 1), drawn({3, 31}, 2)}, 16);
  check_operation(
      device, "split over threads", [](const auto& in) { return matmul(in[0], in[1]); },
      {drawn({61, 530}, 1), drawn({530, 67}, 2)}, 64);
  check_operation(device, "no depth", [](const auto& in) { return matmul(in[0], in[1]); },
                  {drawn({2, 0}, 1), drawn({0, 3}, 2)});
}

CONTRACT(CHECK_1_products_of_many_matrices_broadcast_and_their_gradients_sum_back) {
  auto product = [](const auto& in) { return matmul(in[0], in[1]); };
  check_operation(device, "batch", product, {drawn({3, 5, 9}, 1), drawn({3, 9, 4}, 2)}, 16);
  check_operation(device, "two axes", product, {drawn({2, 3, 5, 9}, 1), drawn({2, 3, 9, 4}, 2)}, 16);
  check_operation(device, "one right operand", product, {drawn({3, 5, 9}, 1), drawn({9, 4}, 2)}, 16);
  check_operation(device, "stretched left operand", product, {drawn({1, 5, 9}, 1), drawn({3, 9, 4}, 2)}, 16);
  check_operation(device, "no matrix", product, {drawn({0, 5, 9}, 1), drawn({0, 9, 4}, 2)});
  check_operation(
      device, "turned", [](const auto& in) { return matmul(in[0], transpose(in[1], -2, -1)); },
      {drawn({3, 5, 9}, 1), drawn({3, 4, 9}, 2)}, 16);
}

namespace assay::kernels {  // where a kernel is called by its name
namespace {

// The specification of a product: each element one chain.
Tensor plain_product(const Tensor& a, const Tensor& b) {
  std::int64_t rows = a.shape()[0], depth = a.shape()[1], columns = b.shape()[1];
  auto x = a.read<float>(), y = b.read<float>();
  std::vector<float> chains;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      chains.push_back(plain::chain_dot(depth, x.begin() + row * depth, 1, y.begin() + column, columns));
  return Tensor::from(chains, {rows, columns});
}

struct Extents {
  std::int64_t rows, columns, depth;
};

// A matrix that lies row by row (form 0), column by column (1), or row by row with gaps between its elements (2).
struct Stored {
  Tensor value, memory;
  View<const float> view;
};
Stored stored(std::int64_t rows, std::int64_t columns, int form, std::uint64_t seed, Device device) {
  if (form < 2) {
    Tensor x = form == 0 ? drawn({rows, columns}, seed, device) : drawn({columns, rows}, seed, device).transpose(0, 1);
    return {x, x, x.view<float>()};
  }
  Tensor memory = drawn({rows, 2 * columns}, seed, device);
  auto all = memory.read<float>();
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) values.push_back(all[2 * i]);
  return {
      Tensor::from(values, {rows, columns}), memory, {memory.view<float>().data, 2, {rows, columns}, {2 * columns, 2}}};
}

}  // namespace

CONTRACT(NUM_2_every_build_gives_one_chain_in_blocks_of_512_an_element_whatever_the_strides) {
  // Around the tiles (6 and 14 rows; 8, 16 and 32 columns), the blocks, and the sizes from which operands are packed.
  std::vector<Extents> all{{1, 1, 1},      {3, 0, 5},      {0, 4, 5},       {5, 33, 0},    {300, 9, 70},
                           {15, 200, 600}, {29, 2060, 40}, {240, 37, 1030}, {2051, 5, 40}, {130, 530, 140}};
  for (std::int64_t rows : {1, 5, 6, 7, 13, 14, 15, 29})
    for (std::int64_t columns : {1, 7, 8, 15, 17, 31, 33, 47, 64, 65, 130}) {
      if (device == simulated && (rows + columns) % 3 != 0) continue;  // slow; its tiles have 32 rows and more
      all.push_back({rows, columns, 5 + columns % 3});
    }

  for (const Extents& e : all)
    for (int left : {0, 1, 2})
      for (int right : {0, 1, 2}) {
        Stored a = stored(e.rows, e.depth, left, 1, device), b = stored(e.depth, e.columns, right, 2, device);
        Tensor expected = plain_product(a.value, b.value);
        const std::string what = to_string(a.value.shape()) + " form " + std::to_string(left) + " by " +
                                 to_string(b.value.shape()) + " form " + std::to_string(right);
        in_every_build(device, what, [&](const std::string& where) {
          if (isa() == Isa::baseline && e.rows > 1000 && left + right > 0) return;  // slow, and nothing new
          Tensor found = Tensor::full({e.rows, e.columns}, 777, device);
          ASSAY_KERNEL(matmul)(device, a.view, b.view, Epilogue{}, found.write_view<float>());
          check_same_bits(expected, found, where);
        });
      }
}

CONTRACT(NUM_2_bias_rectifier_and_accumulation_follow_the_last_block_once_and_in_this_order) {
  for (const Extents& e : std::vector<Extents>{{1, 1, 3}, {15, 33, 7}, {61, 47, 1030}, {20, 1100, 20}, {3, 5, 0}}) {
    Tensor a = drawn({e.rows, e.depth}, 1, device), b = drawn({e.depth, e.columns}, 2, device);
    Tensor bias = drawn({e.columns}, 3, device), old = drawn({e.rows, e.columns}, 4);
    auto sums = plain_product(a, b).read<float>(), added = bias.read<float>(), before = old.read<float>();
    for (bool biased : {false, true})
      for (bool relu : {false, true})
        for (bool accumulate : {false, true}) {
          std::vector<float> values(sums.begin(), sums.end());
          for (std::size_t i = 0; i < values.size(); ++i) {
            auto at = static_cast<std::int64_t>(i);
            if (biased) values[i] = values[i] + added[at % e.columns];
            if (relu) values[i] = values[i] <= 0 ? 0 : values[i];
            if (accumulate) values[i] = before[at] + values[i];
          }
          Tensor expected = Tensor::from(values, old.shape());
          const std::string what = to_string(a.shape()) + (biased ? ", bias" : "") + (relu ? ", relu" : "") +
                                   (accumulate ? ", accumulated" : "");
          in_every_build(device, what, [&](const std::string& where) {
            const Tensor found = Tensor::from(before.span(), old.shape(), device);
            Epilogue epilogue{biased ? operand(bias) : View<const float>(), relu, accumulate};
            ASSAY_KERNEL(matmul)(device, operand(a), operand(b), epilogue, operand(Out{found}));
            check_same_bits(expected, found, where);
          });
        }
  }
}

CONTRACT(NUM_1_threads_that_share_rows_columns_or_matrices_change_no_bit) {
  struct Case {
    Shape a, b;
  };
  for (const Case& c : std::vector<Case>{{{300, 70}, {70, 65}}, {{30, 70}, {70, 650}}, {{7, 90, 64}, {7, 64, 90}}}) {
    Tensor a = drawn(c.a, 1, device), b = drawn(c.b, 2, device), expected = matmul(a, b);
    for (int count : {2, 3, 7}) {
      set_threads(count);
      check_same_bits(expected, matmul(a, b), to_string(c.a) + " on " + std::to_string(count) + " threads");
    }
    set_threads(1);
  }
}

}  // namespace assay::kernels

CONTRACT(NUM_8_products_that_every_order_gives_exactly_equal_the_oracle) {
  Tensor a = whole_numbers({17, 600}, 1, 8, device), b = whole_numbers({600, 65}, 2, 8, device);
  Tensor oracle = matmul(a.to(reference_device), b.to(reference_device)).value();
  check_same_bits(oracle.to(device), matmul(a, b).value(), "matmul of whole numbers");
}

CONTRACT(NUM_3_a_row_of_the_result_does_not_depend_on_the_batch) {
  Tensor a = drawn({9, 130}, 1, device), b = drawn({130, 20}, 2, device);
  Tensor all = matmul(a, b).value();
  for (std::int64_t row = 0; row < 9; ++row)
    check_same_bits(all.slice(0, row, row + 1), matmul(a.slice(0, row, row + 1), b).value(),
                    "row " + std::to_string(row));
}

CONTRACT(ACC_4_matmul_refuses_shapes_that_do_not_match) {
  check_refused([&] { matmul(drawn({2, 3}, 1, device), drawn({4, 2}, 2, device)); }, "ACC-4", "[2, 3] and [4, 2]");
  check_refused([&] { matmul(drawn({3}, 1, device), drawn({3, 2}, 2, device)); }, "ACC-4", "[3] and [3, 2]");
  check_refused([&] { matmul(drawn({2, 4, 3}, 1, device), drawn({3, 3, 2}, 2, device)); }, "GRAPH-11");
}
