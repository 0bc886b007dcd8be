// Policies, and how far two tensors are apart.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "compare_support.hpp"

BOOST_AUTO_TEST_SUITE(compare_values_suite)

using namespace assay;
using namespace assay::compare_test;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

ValueDifference compare(const std::vector<float>& a, const std::vector<float>& b, const std::string& policy) {
  return compare_arrays("x", Array::of(a), Array::of(b), parse_policy(policy));
}

BOOST_AUTO_TEST_CASE(CMP_5_policies_are_read_and_anything_else_is_refused_with_the_forms) {
  BOOST_TEST(parse_policy("ulp:18446744073709551615").ulps == ~std::uint64_t{0});
  BOOST_TEST(parse_policy("close:1e-3,0").rtol == 1e-3);
  BOOST_TEST(parse_policy("close:0,2.5").atol == 2.5);
  for (const char* text : {"", "bit", "Bitwise", "ulp", "ulp:", "ulp:-1", "ulp:1.5", "ulp:1 ",
                           "ulp:18446744073709551616", "close", "close:1e-3", "close:1e-3,", "close:,1", "close:-1,0",
                           "close:0,-1", "close:nan,0", "close:inf,0", "close:1,2,3", "close:1e-3,1e-6x"})
    files_test::refusal("CMP-5", {"bitwise, ulp:N", "close:RTOL,ATOL", "\"" + std::string(text) + "\""},
                        [&] { parse_policy(text); });
}

BOOST_AUTO_TEST_CASE(CMP_3_NaNs_are_equal_and_a_NaN_beside_a_number_is_beyond_every_tolerance) {
  for (const char* policy : {"bitwise", "ulp:0", "close:0,0"})
    BOOST_TEST(compare({nan_value}, {-nan_value}, policy).equal);
  for (const char* policy : {"bitwise", "ulp:1000000", "close:1e9,1e9"}) {
    const ValueDifference difference = compare({1, nan_value}, {1, 2}, policy);
    BOOST_TEST(!difference.within(), policy);
    BOOST_TEST(difference.refused->index == 1u);
    BOOST_TEST(difference.max_ulp == ~std::uint64_t{0});
  }
}

BOOST_AUTO_TEST_CASE(CMP_3_signed_zeros_differ_in_bits_by_one_ULP_and_not_in_value) {
  const ValueDifference difference = compare({0.0f}, {-0.0f}, "bitwise");
  BOOST_TEST(!difference.equal);
  BOOST_TEST(!difference.within());
  BOOST_TEST(difference.max_ulp == 1u);
  BOOST_TEST(difference.max_abs == 0.0);
  BOOST_TEST(difference.max_rel == 0.0);
  BOOST_TEST(!compare({0.0f}, {-0.0f}, "ulp:0").within());
  BOOST_TEST(compare({0.0f}, {-0.0f}, "ulp:1").within());
  BOOST_TEST(compare({0.0f}, {-0.0f}, "close:0,0").within());
}

BOOST_AUTO_TEST_CASE(CMP_3_an_infinity_is_close_to_itself_only) {
  BOOST_TEST(compare({infinite}, {infinite}, "close:0,0").equal);
  for (float other : {-infinite, 3e38f, nan_value}) BOOST_TEST(!compare({infinite}, {other}, "close:1e9,1e9").within());
}

BOOST_AUTO_TEST_CASE(CMP_5_tolerances_hold_at_their_edge_and_not_beyond) {
  BOOST_TEST(compare({1}, {1 + 0x1p-20f}, "ulp:8").within());
  BOOST_TEST(!compare({1}, {1 + 0x1p-20f}, "ulp:7").within());
  BOOST_TEST(compare({100}, {101}, "close:0,1").within());
  BOOST_TEST(!compare({100}, {101}, "close:0,0.99").within());
  BOOST_TEST(compare({75}, {100}, "close:0.25,0").within());
  BOOST_TEST(compare({100}, {75}, "close:0.25,0").within());
  BOOST_TEST(!compare({74}, {100}, "close:0.25,0").within());
}

BOOST_AUTO_TEST_CASE(CMP_5_statistics_are_over_all_elements) {
  const ValueDifference difference = compare({1, 2, 3, 4}, {1, 2.5, 3, 2}, "bitwise");
  BOOST_TEST(difference.elements == 4u);
  BOOST_TEST(difference.different == 2u);
  BOOST_TEST(difference.max_abs == 2.0);
  BOOST_TEST(difference.max_rel == 0.5);
  BOOST_TEST(difference.rms == std::sqrt(4.25 / 4));
  BOOST_TEST(difference.refused->index == 1u);
  BOOST_TEST(compare({}, {}, "bitwise").equal);
  BOOST_TEST(compare({}, {}, "bitwise").rms == 0.0);
}

BOOST_AUTO_TEST_CASE(CMP_5_whole_numbers_are_the_same_or_not) {
  const std::vector<std::uint64_t> a = {(std::uint64_t{1} << 60) + 1}, b = {std::uint64_t{1} << 60};
  BOOST_TEST(compare_arrays("x", Array::of(a), Array::of(a), parse_policy("bitwise")).equal);
  BOOST_TEST(!compare_arrays("x", Array::of(a), Array::of(b), parse_policy("close:1,1")).within());
}

BOOST_AUTO_TEST_CASE(CMP_5_equal_values_of_two_element_types_do_not_have_the_same_bits) {
  const Array narrow = Array::of(std::vector<float>{1, 2}), wide = Array::of(std::vector<double>{1, 2});
  const ValueDifference bitwise = compare_arrays("x", narrow, wide, parse_policy("bitwise"));
  BOOST_TEST(!bitwise.equal);
  BOOST_TEST(!bitwise.within());
  BOOST_TEST(compare_arrays("x", narrow, wide, parse_policy("close:0,0")).within());
}

BOOST_AUTO_TEST_CASE(CMP_4_arrays_of_other_shapes_are_refused_by_name) {
  const Array a = Array::of(std::vector<float>{1, 2}), b = Array::of(std::vector<float>{1, 2, 3});
  files_test::refusal("CMP-4", {"fc1.bias", "[2]", "[3]"}, [&] { compare_arrays("fc1.bias", a, b, Policy{}); });
}

BOOST_AUTO_TEST_CASE(CMP_2_an_index_is_told_per_axis) {
  const std::vector<std::int64_t> shape = {2, 3, 4};
  BOOST_TEST(index_text(shape, 0) == "[0, 0, 0]");
  BOOST_TEST(index_text(shape, 23) == "[1, 2, 3]");
  BOOST_TEST(index_text(shape, 7) == "[0, 1, 3]");
  BOOST_TEST(index_text({}, 0) == "[]");
}

BOOST_AUTO_TEST_SUITE_END()
