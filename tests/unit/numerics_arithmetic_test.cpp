// fma, maximum, relu and the distance in units in the last place.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/ulp.hpp"
#include "numerics/arithmetic.hpp"
#include "numerics/philox.hpp"

namespace {

using namespace assay;

constexpr float infinity_32 = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

float any_float(std::uint64_t n) { return std::bit_cast<float>(numerics::random_block(1, n / 4, 0).word[n % 4]); }

void check_fma(float a, float b, float c) {
  const auto found = numerics::canonical_bits(numerics::fma(a, b, c));
  const auto expected = numerics::canonical_bits(std::fma(a, b, c));
  if (found != expected) BOOST_ERROR("fma(" << a << ", " << b << ", " << c << "): bits " << expected << ", " << found);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numerics_arithmetic)

BOOST_AUTO_TEST_CASE(NUM_2_fma_without_the_instruction_has_its_bits_on_any_operands) {
  for (std::uint64_t n = 0; n < 1'000'000; ++n) check_fma(any_float(3 * n), any_float(3 * n + 1), any_float(3 * n + 2));
}

BOOST_AUTO_TEST_CASE(NUM_2_fma_has_the_bits_of_the_instruction_where_binary64_alone_would_round_twice) {
  for (int j = 1; j < 300; ++j)
    for (const float sign : {1.0f, -1.0f}) {
      // a·b = ±2⁻²⁴·(1 − j²·2⁻⁴⁶) beside an odd c: just short of a midpoint, and binary64 rounds it onto that.
      const float a = 1 + static_cast<float>(j) * 0x1p-23f;
      const float b = sign * (1 - static_cast<float>(j) * 0x1p-23f) * 0x1p-24f;
      const float c = 0x1.000002p+0f + static_cast<float>(2 * j) * 0x1p-23f;
      check_fma(a, b, c);
      BOOST_CHECK_EQUAL(numerics::fma(a, b, c), c);
      BOOST_CHECK_NE(static_cast<float>(static_cast<double>(a) * b + c), c);
    }
}

BOOST_AUTO_TEST_CASE(NUM_2_fma_has_the_bits_of_the_instruction_on_special_operands) {
  const std::array<float, 17> special = {
      0.0f,  -0.0f,       1.0f,         -1.0f,     0x1p-149f,        -0x1p-149f,
      2.0f,  0x1p-126f,   -0x1p-75f,    0x1p-74f,  0x1.fffffep+127f, -0x1.fffffep+127f,
      0.75f, infinity_32, -infinity_32, 0x1p+126f, quiet_nan};
  for (const float a : special)
    for (const float b : special)
      for (const float c : special) check_fma(a, b, c);
}

BOOST_AUTO_TEST_CASE(multiply_add_rounds_once_in_binary32_and_twice_in_binary64) {
  const float a = 0x1.000002p+0f;
  BOOST_CHECK_EQUAL(numerics::multiply_add(a, a, -0x1.000004p+0f), 0x1p-46f);
  const double d = 0x1.0000001p+0;
  BOOST_CHECK_EQUAL(numerics::multiply_add(d, d, -0x1.0000002p+0), 0.0);
}

BOOST_AUTO_TEST_CASE(maximum_prefers_NaN_to_numbers_and_plus_zero_to_minus_zero_in_either_position) {
  const auto bits = [](auto a, auto b) { return numerics::canonical_bits(numerics::maximum(a, b)); };
  for (const float other : {1.0f, -infinity_32, infinity_32, quiet_nan}) {
    BOOST_CHECK_EQUAL(bits(quiet_nan, other), numerics::canonical_nan_32);
    BOOST_CHECK_EQUAL(bits(other, quiet_nan), numerics::canonical_nan_32);
  }
  BOOST_CHECK_EQUAL(bits(0.0f, -0.0f), 0u);
  BOOST_CHECK_EQUAL(bits(-0.0f, 0.0f), 0u);
  BOOST_CHECK_EQUAL(bits(-0.0f, -0.0f), 0x80000000u);
  BOOST_CHECK_EQUAL(bits(-0.0, 0.0), 0u);
  BOOST_CHECK_EQUAL(numerics::maximum(-3.0f, -2.0f), -2.0f);
  BOOST_CHECK_EQUAL(numerics::maximum(-2.0, -3.0), -2.0);
}

BOOST_AUTO_TEST_CASE(relu_keeps_NaN_and_gives_plus_zero_below_zero) {
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::relu(quiet_nan)), numerics::canonical_nan_32);
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::relu(-0.0f)), 0u);
  BOOST_CHECK_EQUAL(numerics::relu(-1.0f), 0.0f);
  BOOST_CHECK_EQUAL(numerics::relu(2.0), 2.0);
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::relu_gradient(0.0f, infinity_32)), 0u);
  BOOST_CHECK_EQUAL(numerics::canonical_bits(numerics::relu_gradient(-1.0f, quiet_nan)), 0u);
  BOOST_CHECK_EQUAL(numerics::relu_gradient(1.0f, -3.0f), -3.0f);
  BOOST_CHECK_EQUAL(numerics::relu_gradient(quiet_nan, 5.0f), 5.0f);
}

BOOST_AUTO_TEST_CASE(the_distance_of_two_values_counts_the_steps_between_them) {
  BOOST_CHECK_EQUAL(ulp_distance(1.0f, 0x1.000002p+0f), 1u);
  BOOST_CHECK_EQUAL(ulp_distance(0x1.000002p+0f, 0x1.fffffep-1f), 2u);
  BOOST_CHECK_EQUAL(ulp_distance(-0.0f, 0.0f), 1u);
  BOOST_CHECK_EQUAL(ulp_distance(-0x1p-149f, 0x1p-149f), 3u);
  BOOST_CHECK_EQUAL(ulp_distance(0x1.fffffep+127f, infinity_32), 1u);
  BOOST_CHECK_EQUAL(ulp_distance(infinity_32, -infinity_32), 2u * 0x7f800000u + 1u);
  BOOST_CHECK_EQUAL(ulp_distance(quiet_nan, -quiet_nan), 0u);
  BOOST_CHECK_EQUAL(ulp_distance(quiet_nan, infinity_32), ~std::uint64_t{0});
  BOOST_CHECK_EQUAL(ulp_distance(1.0, 1.0 + 0x1p-52), 1u);
  BOOST_CHECK_EQUAL(ulp_distance(-0.0, 0.0), 1u);
  BOOST_CHECK_EQUAL(ulp_distance(-2.5, -2.5), 0u);
}

BOOST_AUTO_TEST_SUITE_END()
