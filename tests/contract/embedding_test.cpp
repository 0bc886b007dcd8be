// Contract of embedding.
#include "autograd/embedding.hpp"

#include "support/contract.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Tensor row_ids(const std::vector<std::int32_t>& ids, const Shape& shape, Device device) {
  return Tensor::from(ids, shape, device);
}

}  // namespace

CONTRACT(CHECK_1_embedding_matches_the_oracle_at_awkward_sizes) {
  for (std::int64_t width : {0, 1, 31, 32, 33, 257})
    check_operation(device, "embedding",
                    [](const auto& in) {
                      return embedding(in[0], row_ids({4, 0, 4, 2, 1, 4}, {2, 3}, in[0].device()));
                    },
                    {drawn({5, width}, 1, -1, 1, device)});
  check_operation(device, "of no rows",
                  [](const auto& in) {
                    return embedding(in[0], row_ids({}, {0, 3}, in[0].device()));
                  },
                  {drawn({3, 4}, 1, -1, 1, device)});
  std::vector<std::int32_t> many;
  for (std::int32_t i = 0; i < 300; ++i) many.push_back(i * i % 50);
  check_operation(device, "on several threads",
                  [&](const auto& in) { return embedding(in[0], row_ids(many, {300}, in[0].device())); },
                  {drawn({50, 130}, 2, -1, 1, device)});
}

CONTRACT(LAYER_3_embedding_gives_the_rows_of_the_table_bit_for_bit) {
  Tensor table = drawn({7, 5}, 1, -1, 1, device);
  Tensor y = embedding(table, row_ids({6, 0, 6, 3}, {2, 2}, device)).value();
  BOOST_TEST((y.shape() == Shape{2, 2, 5}));
  for (int i = 0; i < 4; ++i) {
    const int row = std::vector{6, 0, 6, 3}[static_cast<std::size_t>(i)];
    check_same_bits(table.slice(0, row, row + 1), y.reshape({4, 5}).slice(0, i, i + 1), "row " + std::to_string(i));
  }
  Tensor turned = row_ids({6, 6, 0, 3}, {2, 2}, device).transpose(0, 1);
  check_same_bits(y, embedding(table, turned).value(), "ids behind strides");
}

CONTRACT(NUM_1_rows_used_again_are_added_from_positive_zero_in_ascending_position) {
  // 2²⁵ + 1 − 2²⁵ differs from every other order; −0 as the only contribution gives +0 + −0 = +0.
  Variable table = Variable::leaf(Tensor::zeros({3, 1}, device));
  Tensor ids = row_ids({1, 1, 1, 2}, {4}, device);
  embedding(table, ids).backward(Tensor::from<float>({0x1p25f, 1, -0x1p25f, -0.0f}, {4, 1}, device));
  auto gradient = table.gradient().read<float>();
  for (int row : {0, 1, 2}) BOOST_TEST(ulp_distance(gradient[row], 0.0f) == 0u);
  table.zero_gradient();
  embedding(table, ids).backward(Tensor::from<float>({0x1p25f, -0x1p25f, 1, 5}, {4, 1}, device));
  BOOST_TEST(table.gradient().read<float>()[1] == 1);
}

CONTRACT(LAYER_3_embedding_refuses_ids_out_of_range_and_other_shapes_and_types) {
  Tensor table = drawn({3, 2}, 1, -1, 1, device);
  for (std::int32_t id : {-1, 3, 1 << 30})
    check_refused(
        [&] {
          embedding(table, row_ids({0, id, -7}, {3}, device));
        },
        "LAYER-3", "embedding: expected an id from 0 to 2 at element 1, found " + std::to_string(id));
  check_refused([&] { embedding(drawn({3}, 1, -1, 1, device), row_ids({0}, {1}, device)); }, "LAYER-3", "[3] and [1]");
  check_refused([&] { embedding(table, table); }, "ACC-4", "int32");
  check_refused([&] { embedding(table, row_ids({0}, {1}, reference_device)); }, "GRAPH-13", "reference");
}
