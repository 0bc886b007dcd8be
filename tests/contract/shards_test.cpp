// Contract of accumulation in shards.
#include "optim/shards.hpp"

#include "support/contract.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

ShardResult result_of(std::int64_t shard, Device device) {
  auto seed = static_cast<std::uint64_t>(shard);
  return {drawn({}, 2 * seed, -1, 1, device),
          {drawn({40, 3}, 2 * seed + 1, -1, 1, device), drawn({7}, seed + 1000, -1, 1, device)}};
}

/// The perfect tree over `results`, written as it is defined.
float tree(const std::vector<float>& leaves, std::size_t begin, std::size_t count) {
  if (count == 1) return leaves[begin];
  return tree(leaves, begin, count / 2) + tree(leaves, begin + count / 2, count / 2);
}

}  // namespace

CONTRACT(NUM_11_results_are_added_as_a_perfect_binary_tree) {
  for (std::int64_t count : {1, 2, 4, 8, 32}) {
    ShardSum sum(count);
    std::vector<ShardResult> results;
    for (std::int64_t i = 0; i < count; ++i) {
      results.push_back(result_of(i, device));
      sum.add(results.back());
    }
    ShardResult total = sum.total();
    auto check = [&](auto part) {
      Tensor found = part(total);
      for (std::int64_t k = 0; k < found.size(); ++k) {
        std::vector<float> leaves;
        for (const ShardResult& result : results) leaves.push_back(part(result).template read<float>()[k]);
        BOOST_TEST(found.read<float>()[k] == tree(leaves, 0, leaves.size()), count << " shards, element " << k);
      }
    };
    check([](const ShardResult& r) { return r.loss; });
    check([](const ShardResult& r) { return r.gradients[0]; });
    check([](const ShardResult& r) { return r.gradients[1]; });
    for (std::int64_t i = 0; i < count; ++i)
      check_same_bits(result_of(i, device).gradients[0], results[static_cast<std::size_t>(i)].gradients[0],
                      "a result that was added");
  }
}

CONTRACT(NUM_11_two_holders_of_half_the_shards_get_the_bits_of_one) {
  ShardSum all(8), left(4), right(4), both(2);
  for (std::int64_t i = 0; i < 8; ++i) {
    all.add(result_of(i, device));
    (i < 4 ? left : right).add(result_of(i, device));
  }
  both.add(left.total());
  both.add(right.total());
  check_same_bits(all.total().gradients[0], both.total().gradients[0], "gradients");
  check_same_bits(all.total().loss, both.total().loss, "loss");
}

CONTRACT(NUM_11_an_empty_shard_takes_part_with_positive_zero) {
  ShardSum sum(2);
  sum.add({Tensor::full({}, -0.0, device), {Tensor::full({1}, -0.0, device)}});
  sum.add({Tensor::zeros({}, device), {Tensor::zeros({1}, device)}});
  BOOST_TEST(ulp_distance(sum.total().gradients[0].read<float>()[0], 0.0f) == 0u);
  BOOST_TEST(ulp_distance(sum.total().loss.read<float>()[0], 0.0f) == 0u);
}

CONTRACT(NUM_11_the_oracle_adds_the_same_tree) {
  ShardSum found(8), oracle(8);
  for (std::int64_t i = 0; i < 8; ++i) {
    found.add(result_of(i, device));
    oracle.add(result_of(i, reference_device));
  }
  check_close_to_oracle(oracle.total().gradients[0], found.total().gradients[0], 4, "gradients of 8 shards");
}

BOOST_AUTO_TEST_CASE(NUM_11_the_rows_of_all_shards_cover_the_batch_once_in_order) {
  for (std::int64_t rows : {0, 1, 3, 64, 100})
    for (std::int64_t count : {1, 2, 8, 64}) {
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        auto [begin, end] = rows_of_shard(rows, count, i);
        BOOST_TEST(begin == next);
        BOOST_TEST((end - begin == rows / count || end - begin == (rows + count - 1) / count));
        next = end;
      }
      BOOST_TEST(next == rows);
    }
}

CONTRACT(NUM_11_a_wrong_number_or_layout_is_refused) {
  for (std::int64_t count : {0, -4, 3, 12})
    check_refused([&] { ShardSum sum(count); }, "NUM-11", std::to_string(count));
  auto part = [&](const Shape& shape) { return drawn(shape, 1, -1, 1, device); };
  ShardSum sum(2);
  check_refused([&] { sum.total(); }, "NUM-11", "expected 2 results, found 0");
  sum.add(result_of(0, device));
  check_refused([&] { sum.add({part({}), {part({40, 3})}}); }, "NUM-11", "expected 2 gradients, found 1");
  check_refused([&] { sum.add({part({}), {part({40, 3}), part({8})}}); }, "NUM-11", "gradient 1");
  check_refused([&] { sum.add(result_of(1, reference_device)); }, "NUM-11", "reference");
  sum.add(result_of(1, device));
  check_refused([&] { sum.add(result_of(2, device)); }, "NUM-11", "one more");
}
