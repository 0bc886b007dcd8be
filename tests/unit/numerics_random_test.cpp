// Philox, the draws over it, and named streams. The golden values come from a Python program of their own (integers,
// NumPy's binary32, mpmath's logarithm and cosine rounded once), not from this library.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "numerics/digest.hpp"
#include "numerics/philox.hpp"
#include "numerics/random.hpp"

namespace {

using namespace assay;

void check_philox(numerics::PhiloxBlock counter, std::uint64_t key, const std::vector<std::uint32_t>& expected) {
  const numerics::PhiloxBlock block = numerics::philox(counter, key);
  BOOST_CHECK_EQUAL_COLLECTIONS(block.word, block.word + 4, expected.begin(), expected.end());
}

template <typename Draw>
std::vector<float> draws(Draw draw, std::uint64_t count, std::uint64_t key, std::uint64_t index) {
  std::vector<float> values(count);
  for (std::uint64_t n = 0; n < count; ++n) values[n] = draw(key, n, index);
  return values;
}

bool is(const Error& error, const std::string& id, const std::string& found) {
  BOOST_CHECK_EQUAL(error.id(), id);
  BOOST_CHECK_EQUAL(error.found(), found);
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numerics_random)

BOOST_AUTO_TEST_CASE(philox_gives_the_published_known_answers) {
  check_philox({{0, 0, 0, 0}}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check_philox({{~0u, ~0u, ~0u, ~0u}}, ~std::uint64_t{0}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check_philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822,
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

BOOST_AUTO_TEST_CASE(a_stream_key_is_FNV_1a_over_the_seed_and_the_name) {
  BOOST_CHECK_EQUAL(stream_key(42, "fc1.weight"), 0xa1e66e331d92181bu);
  BOOST_CHECK_EQUAL(stream_key(0, ""), 0xa8c7f832281a39c5u);
}

BOOST_AUTO_TEST_CASE(uniform_draws_side_by_side_have_the_bits_of_single_ones) {
  const std::uint64_t key = stream_key(3, "many"), draw = (std::uint64_t{1} << 40) + 5;
  for (std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255}, (std::uint64_t{1} << 34) - 7})
    for (std::uint64_t count : {0, 1, 3, 4, 255, 256, 257, 1000}) {
      std::vector<float> found(count + 1, -1);
      numerics::uniforms(key, first, count, draw, [&](std::uint64_t i, float u) { found.at(i) = u; });
      for (std::uint64_t i = 0; i < count; ++i) BOOST_REQUIRE_EQUAL(found[i], numerics::uniform(key, first + i, draw));
      BOOST_TEST(found[count] == -1);
    }
}

BOOST_AUTO_TEST_CASE(uniform_draws_have_their_golden_bits) {
  const std::uint64_t key = stream_key(42, "fc1.weight");
  BOOST_CHECK_EQUAL(numerics::uniform(key, 0, 0), 0x1.97b1eep-1f);
  BOOST_CHECK_EQUAL(numerics::uniform(key, 3, 0), 0x1.1eebe2p-1f);
  BOOST_CHECK_EQUAL(numerics::uniform(key, 4, 0), 0x1.379a38p-2f);
  // Element and draw indices beyond 32 bits.
  BOOST_CHECK_EQUAL(numerics::uniform(key, (std::uint64_t{1} << 35) + 1, std::uint64_t{1} << 33), 0x1.f12acp-1f);
  const std::vector<float> values = draws(numerics::uniform, 1000, key, 1);
  BOOST_CHECK_EQUAL(numerics::digest(values.data(), values.size()), 0xe805f145056bf14fu);
}

BOOST_AUTO_TEST_CASE(normal_draws_have_their_golden_bits) {
  const std::uint64_t key = stream_key(42, "fc1.weight");
  BOOST_CHECK_EQUAL(numerics::normal(key, 0, 0), 0x1.86a97ap-2f);
  BOOST_CHECK_EQUAL(numerics::normal(key, 1, 0), -0x1.26fc84p+0f);
  BOOST_CHECK_EQUAL(numerics::normal(key, 2, 0), -0x1.877f06p-3f);
  const std::vector<float> values = draws(numerics::normal, 1000, key, 1);
  BOOST_CHECK_EQUAL(numerics::digest(values.data(), values.size()), 0xf5c278bad729baf9u);
}

BOOST_AUTO_TEST_CASE(bounded_draws_and_a_shuffle_have_their_golden_values) {
  const std::uint64_t key = stream_key(42, "fc1.weight");
  const std::vector<std::uint64_t> bounds = {1, 2, 10, 60000, 0x100000005, 0x800000000000000b, 0xffffffffffffffff};
  const std::vector<std::uint64_t> expected = {0, 0, 8, 30717, 1439395460, 5815720576060454443, 1147436662654628034};
  for (std::size_t i = 0; i < bounds.size(); ++i)
    BOOST_CHECK_EQUAL(numerics::bounded(key, i, bounds[i], 7), expected[i]);

  std::vector<std::uint32_t> order(10);
  std::iota(order.begin(), order.end(), 0u);
  numerics::shuffle(order.data(), order.size(), key, 3);
  const std::vector<std::uint32_t> shuffled = {5, 0, 8, 6, 7, 3, 2, 9, 1, 4};
  BOOST_CHECK_EQUAL_COLLECTIONS(order.begin(), order.end(), shuffled.begin(), shuffled.end());
  numerics::shuffle(order.data(), 0, key, 3);
}

BOOST_AUTO_TEST_CASE(a_million_draws_have_the_moments_of_their_distribution) {
  const std::uint64_t count = 1'000'000;
  // Four standard errors each.
  const auto check = [&](const std::vector<float>& values, double mean, double variance, double fourth_moment) {
    double sum = 0, squares = 0;
    for (const float value : values) sum += value;
    for (const float value : values) squares += (value - mean) * (value - mean);
    const double n = static_cast<double>(count);
    BOOST_CHECK_SMALL(sum / n - mean, 4 * std::sqrt(variance / n));
    BOOST_CHECK_SMALL(squares / n - variance, 4 * std::sqrt((fourth_moment - variance * variance) / n));
  };
  check(draws(numerics::uniform, count, stream_key(1, "u"), 0), 0.5, 1.0 / 12, 1.0 / 80);
  check(draws(numerics::normal, count, stream_key(1, "z"), 0), 0.0, 1.0, 3.0);
}

BOOST_AUTO_TEST_CASE(a_scope_names_its_stream_by_its_path) {
  const Random random(42);
  const auto stream = random["fc1"]["weight"].stream();
  BOOST_CHECK_EQUAL(stream->name(), "fc1.weight");
  BOOST_CHECK_EQUAL(stream->key(), stream_key(42, "fc1.weight"));
  BOOST_CHECK_EQUAL(random["fc1"].path(), "fc1");
  BOOST_CHECK_EQUAL(random["fc1"].seed(), 42u);
}

BOOST_AUTO_TEST_CASE(a_stream_counts_its_draws_and_the_root_lists_streams_in_order_of_opening) {
  const Random random(1);
  const auto second = random["b"].stream();
  const auto first = random["a"].stream();
  BOOST_CHECK_EQUAL(second->next_draw().index, 0u);
  BOOST_CHECK_EQUAL(second->next_draw().index, 1u);
  BOOST_CHECK_EQUAL(second->draws(), 2u);
  first->set_draws(7);
  BOOST_CHECK_EQUAL(first->next_draw().index, 7u);
  BOOST_REQUIRE_EQUAL(random["a"].streams().size(), 2u);
  BOOST_CHECK(random.streams()[0] == second);
  BOOST_CHECK(random.streams()[1] == first);
}

BOOST_AUTO_TEST_CASE(REG_3_a_random_scope_takes_one_segment_without_a_dot) {
  const Random random(1);
  BOOST_CHECK_EXCEPTION(random["a.b"], Error, [](const Error& e) { return is(e, "REG-3", "\"a.b\""); });
  BOOST_CHECK_EXCEPTION(random[""], Error, [](const Error& e) { return is(e, "REG-3", "\"\""); });
  BOOST_CHECK_EXCEPTION(random.stream(), Error, [](const Error& e) { return is(e, "REG-3", "the root"); });
}

BOOST_AUTO_TEST_CASE(REG_4_a_stream_name_is_opened_once) {
  const Random random(1);
  const Random copy = random;
  random["a"].stream();
  BOOST_CHECK_EXCEPTION(copy["a"].stream(), Error,
                        [](const Error& e) { return is(e, "REG-4", "\"a\" for the second time"); });
  BOOST_CHECK_EQUAL(random.streams().size(), 1u);
  BOOST_CHECK_EQUAL(Random(1)["a"].stream()->name(), "a");
}

BOOST_AUTO_TEST_SUITE_END()
