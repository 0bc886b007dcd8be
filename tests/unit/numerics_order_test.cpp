// Chain order and lane order, on data where any other order gives another sum.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "numerics/order.hpp"
#include "numerics/philox.hpp"

namespace {

using namespace assay;

// At 2²⁴ binary32 loses a single 1 that is added to it, but not a 2: so a sum tells which ones were added together
// first.
constexpr float big = 0x1p24f;

/// Terms that are 0 except where the map says.
auto sparse(const std::map<std::size_t, float>& values) {
  return [&values](std::size_t i) {
    const auto found = values.find(i);
    return found == values.end() ? 0.0f : found->second;
  };
}

std::vector<float> normals(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = numerics::normal(17, i, 0);
  return x;
}

/// The text of N3, word by word, over vectors.
std::vector<float> with_lanes(std::vector<float> row, bool squares) {
  if (row.size() > 4096) {
    std::vector<float> sums;
    for (std::size_t start = 0; start < row.size(); start += 4096) {
      const auto stop = std::min(start + 4096, row.size());
      sums.push_back(with_lanes({row.begin() + start, row.begin() + stop}, squares)[0]);
    }
    return with_lanes(sums, false);
  }
  std::vector<float> lane(32, 0.0f);
  for (std::size_t i = 0; i < row.size(); ++i)
    lane[i % 32] = squares ? std::fma(row[i], row[i], lane[i % 32]) : lane[i % 32] + row[i];
  for (std::size_t w : {16, 8, 4, 2, 1})
    for (std::size_t l = 0; l < w; ++l) lane[l] = lane[l] + lane[l + w];
  return {lane[0]};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numerics_order)

BOOST_AUTO_TEST_CASE(chain_order_adds_block_sums_of_512) {
  BOOST_CHECK_EQUAL(numerics::chain_sum(0, 600, sparse({{0, big}, {510, 1}, {511, 1}})), big);
  BOOST_CHECK_EQUAL(numerics::chain_sum(0, 600, sparse({{0, big}, {512, 1}, {513, 1}})), big + 2);
  BOOST_CHECK_EQUAL(numerics::chain_sum(0, 2000, sparse({{0, big}, {512, 1}, {1024, 1}})), big);
}

BOOST_AUTO_TEST_CASE(chain_order_anchors_its_blocks_at_index_zero_wherever_the_range_starts) {
  const std::map<std::size_t, float> values = {{511, big}, {512, 1}, {513, 1}};
  BOOST_CHECK_EQUAL(numerics::chain_sum(511, 600, sparse(values)), big + 2);
  // Shifted by one, all three share a block.
  const std::map<std::size_t, float> shifted = {{512, big}, {513, 1}, {514, 1}};
  BOOST_CHECK_EQUAL(numerics::chain_sum(512, 601, sparse(shifted)), big);
}

BOOST_AUTO_TEST_CASE(chain_order_leaves_out_blocks_and_elements_outside_the_range) {
  const auto underflowing = [](std::size_t k) { return k < 512 ? std::nanf("") : -0x1p-100f; };
  const auto one = [](std::size_t) { return 0x1p-100f; };
  // The only element's product underflows to −0, which no +0 of a missing block may turn into +0.
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::chain_dot(512, 513, underflowing, one)), 0x80000000u);
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::chain_dot(5, 5, underflowing, one)), 0u);
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::chain_sum(7, 3, one)), 0u);
}

BOOST_AUTO_TEST_CASE(chain_order_starts_each_block_from_plus_zero) {
  const auto minus_zero = [](std::size_t) { return -0.0f; };
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::chain_sum(0, 1, minus_zero)), 0u);
}

BOOST_AUTO_TEST_CASE(chain_dot_is_one_ascending_fma_chain_per_block) {
  const std::vector<float> a = normals(1500);
  const auto at = [&](std::size_t k) { return a[k]; };
  const auto squares = [&](std::size_t begin, std::size_t end) {
    float p = 0;
    for (std::size_t k = begin; k < end; ++k) p = std::fma(a[k], a[k], p);
    return p;
  };
  BOOST_CHECK_EQUAL(numerics::chain_dot(0, 512, at, at), squares(0, 512));
  BOOST_CHECK_EQUAL(numerics::chain_dot(100, 1500, at, at),
                    (squares(100, 512) + squares(512, 1024)) + squares(1024, 1500));
  BOOST_CHECK_NE(numerics::chain_dot(100, 1500, at, at), squares(100, 1500));
}

BOOST_AUTO_TEST_CASE(lane_order_adds_each_lane_before_the_lanes) {
  BOOST_CHECK_EQUAL(numerics::lane_sum(40, sparse({{0, big}, {1, 1}, {33, 1}})), big + 2);
  BOOST_CHECK_EQUAL(numerics::lane_sum(40, sparse({{0, big}, {32, 1}, {1, 1}})), big);
}

BOOST_AUTO_TEST_CASE(lane_order_folds_the_upper_half_onto_the_lower) {
  // Lanes 1 and 17, or 1 and 3, meet before they reach lane 0; lanes 16 and 2 reach it without lane 1.
  BOOST_CHECK_EQUAL(numerics::lane_sum(32, sparse({{0, big}, {1, 1}, {17, 1}})), big + 2);
  BOOST_CHECK_EQUAL(numerics::lane_sum(32, sparse({{0, big}, {16, 1}, {1, 1}})), big);
  BOOST_CHECK_EQUAL(numerics::lane_sum(32, sparse({{0, big}, {1, 1}, {3, 1}})), big + 2);
  BOOST_CHECK_EQUAL(numerics::lane_sum(32, sparse({{0, big}, {1, 1}, {2, 1}})), big);
}

BOOST_AUTO_TEST_CASE(lane_order_gives_plus_zero_without_elements_and_for_a_minus_zero) {
  const auto minus_zero = [](std::size_t) { return -0.0f; };
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::lane_sum(0, minus_zero)), 0u);
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::lane_sum(32, minus_zero)), 0u);
}

BOOST_AUTO_TEST_CASE(lane_order_sums_chunks_of_4096_first) {
  const std::map<std::size_t, float> apart = {{0, big}, {4096, 1}, {4097, 1}};
  BOOST_CHECK_EQUAL(numerics::lane_sum(4098, sparse(apart)), big + 2);
  const std::map<std::size_t, float> together = {{0, big}, {4064, 1}, {4095, 1}};
  BOOST_CHECK_EQUAL(numerics::lane_sum(4096, sparse(together)), big);
}

BOOST_AUTO_TEST_CASE(lane_order_applies_its_rule_again_when_there_are_more_than_4096_chunks) {
  const std::size_t level = std::size_t{4096} * 4096;
  const auto term = [&](std::size_t i) { return i == 0 ? big : i == level || i == level + 4096 ? 1.0f : 0.0f; };
  BOOST_CHECK_EQUAL(numerics::lane_sum(level + 4097, term), big + 2);
  // In one row of chunk sums, chunks 32 and 64 meet chunk 0 in its lane, one after the other.
  const auto within = [&](std::size_t i) { return i == 0 ? big : i == 4096 * 32 || i == 4096 * 64 ? 1.0f : 0.0f; };
  BOOST_CHECK_EQUAL(numerics::lane_sum(level, within), big);
}

BOOST_AUTO_TEST_CASE(lane_order_has_the_bits_of_its_definition_at_awkward_sizes) {
  const std::vector<float> x = normals(70'000);
  const auto at = [&](std::size_t i) { return x[i]; };
  int differs_from_ascending = 0;
  for (const std::size_t n : {1u, 31u, 32u, 33u, 257u, 4095u, 4096u, 4097u, 8192u, 8193u, 70'000u}) {
    const std::vector<float> row(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n));
    BOOST_CHECK_EQUAL(numerics::lane_sum(n, at), with_lanes(row, false)[0]);
    BOOST_CHECK_EQUAL(numerics::lane_dot(n, at, at), with_lanes(row, true)[0]);
    float ascending = 0;
    for (const float value : row) ascending = ascending + value;
    differs_from_ascending += ascending != numerics::lane_sum(n, at);
  }
  BOOST_CHECK_GE(differs_from_ascending, 7);
}

BOOST_AUTO_TEST_CASE(lane_order_in_binary64_multiplies_then_adds) {
  const double d = 0x1.0000001p+0;
  const auto at = [&](std::size_t i) { return i == 0 ? -0x1.0000002p+0 : d; };
  const auto by = [&](std::size_t i) { return i == 0 ? 1.0 : d; };
  // Elements 0 and 32 share a lane: an fma would keep 2⁻⁵⁶.
  const auto pick = [](auto f) { return [f](std::size_t i) { return i % 32 ? 0.0 : f(i); }; };
  BOOST_CHECK_EQUAL(numerics::lane_dot(33, pick(at), pick(by)), 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
