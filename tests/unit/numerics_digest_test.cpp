// Digests of element data and of lists of tensors; golden values from a Python program of their own.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "numerics/digest.hpp"
#include "numerics/set_digest.hpp"

namespace {

using namespace assay;

template <typename T>
std::uint64_t digest_of(const std::vector<T>& values) {
  return numerics::digest(values.data(), values.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numerics_digest)

BOOST_AUTO_TEST_CASE(digests_of_every_element_type_have_their_golden_values) {
  BOOST_CHECK_EQUAL(digest_of<float>({}), 0u);
  BOOST_CHECK_EQUAL(numerics::digest_term(0, 5), 0x63033b0ca389c35au);
  BOOST_CHECK_EQUAL(digest_of<float>({1.0f, -0.0f, 0.0f}), 0x3a9566a59bcd2116u);
  BOOST_CHECK_EQUAL(digest_of<double>({1.5, -2.0}), 0x66c9d2b5f0bd92f6u);
  BOOST_CHECK_EQUAL(digest_of<std::int32_t>({-1, 7}), 0x9b8052aa76d351dfu);
  BOOST_CHECK_EQUAL(digest_of<std::uint8_t>({255, 0, 3}), 0xe5d1bf7669029293u);
  BOOST_CHECK_EQUAL(digest_of<std::uint64_t>({0x0123456789abcdef}), 0x4cafe92d429d39e2u);
}

BOOST_AUTO_TEST_CASE(every_NaN_has_one_digest_and_the_zeros_have_two) {
  const auto nan = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  BOOST_CHECK_EQUAL(digest_of<float>({nan(0x7fc00000)}), 0x597709b67ebb1c02u);
  BOOST_CHECK_EQUAL(digest_of<float>({nan(0xffc12345)}), 0x597709b67ebb1c02u);
  BOOST_CHECK_EQUAL(digest_of<double>({-std::nan("7")}), 0x8513e59af111c7aeu);
  BOOST_CHECK_NE(digest_of<float>({0.0f}), digest_of<float>({-0.0f}));
}

BOOST_AUTO_TEST_CASE(digests_of_pieces_add_up_to_the_digest_of_the_whole) {
  std::vector<float> x(1000);
  std::vector<double> d(1000);
  for (std::size_t i = 0; i < x.size(); ++i) d[i] = x[i] = static_cast<float>(i) * 0.37f;
  for (const std::size_t cut : {0u, 1u, 499u, 1000u}) {
    BOOST_CHECK_EQUAL(numerics::digest(x.data() + cut, 1000 - cut, cut) + numerics::digest(x.data(), cut),
                      digest_of(x));
    BOOST_CHECK_EQUAL(numerics::digest(d.data() + cut, 1000 - cut, cut) + numerics::digest(d.data(), cut),
                      digest_of(d));
  }
}

BOOST_AUTO_TEST_CASE(one_flipped_bit_or_two_swapped_elements_change_the_digest) {
  std::vector<float> x = {1, 2, 3, 4};
  const std::uint64_t before = digest_of(x);
  std::swap(x[1], x[2]);
  BOOST_CHECK_NE(digest_of(x), before);
  std::swap(x[1], x[2]);
  x[3] = std::nextafter(x[3], 5.0f);
  BOOST_CHECK_NE(digest_of(x), before);
}

BOOST_AUTO_TEST_CASE(the_digest_of_a_set_covers_name_type_shape_digest_and_order) {
  const DigestedTensor weight = {"fc1.weight", "f32", {2, 3}, 0x0123456789abcdef};
  const DigestedTensor bias = {"fc1.bias", "f32", {2}, 5};
  const auto digest = [](std::vector<DigestedTensor> set) { return digest_of_set(set); };
  const std::string expected = "10c62a5bd6d4356110de75edc09ce240322f2f88f112a471c89173191cc9a054";
  BOOST_CHECK_EQUAL(digest({weight, bias}), expected);
  BOOST_CHECK_NE(digest({bias, weight}), expected);
  BOOST_CHECK_NE(digest({weight, {"fc1.bia", "f32", {2}, 5}}), expected);
  BOOST_CHECK_NE(digest({weight, {"fc1.bias", "f64", {2}, 5}}), expected);
  BOOST_CHECK_NE(digest({{"fc1.weight", "f32", {3, 2}, 0x0123456789abcdef}, bias}), expected);
  BOOST_CHECK_NE(digest({weight, {"fc1.bias", "f32", {2}, 6}}), expected);
}

BOOST_AUTO_TEST_SUITE_END()
