// Contract of the kernels without a gradient rule that optimisers and digests stand on.
#include <cmath>
#include <limits>

#include "kernels/digest.hpp"
#include "kernels/finite.hpp"
#include "kernels/scale.hpp"
#include "kernels/squared_norm.hpp"
#include "numerics/digest.hpp"
#include "numerics/order.hpp"
#include "support/operation.hpp"

using namespace assay;
using namespace assay::test;

namespace {

double squares_of(const Tensor& x) {
  kernels::Record record(x.device(), 1);
  kernels::squared_norms({x}, record.all());
  return record.number(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(plain_kernels)

BOOST_AUTO_TEST_CASE(NUM_1_a_digest_is_the_same_over_threads_views_types_pieces_and_devices) {
  for (const Shape& shape : {Shape{0}, {1}, {33}, {257, 130}, {3, 0, 2}, {4, 5, 6}, {}}) {
    Tensor x = drawn(shape, 1);
    std::vector<float> values(x.read<float>().begin(), x.read<float>().end());
    std::uint64_t expected = numerics::digest(values.data(), values.size());
    for (int count : {1, 2, 3, 7}) {
      set_threads(count);
      BOOST_TEST(kernels::digest(x) == expected);
      BOOST_TEST(kernels::digest(strided(x)) == expected);
    }
    set_threads(1);
    BOOST_TEST(reference::digest(std::span<const float>(values), 0) == expected);
    Tensor wide = x.to(reference_device);
    std::vector<double> doubled(values.begin(), values.end());
    BOOST_TEST(kernels::digest(wide) == numerics::digest(doubled.data(), doubled.size()));
  }
  Tensor x = drawn({10, 7}, 2);
  BOOST_TEST(kernels::digest(x) == kernels::digest(x.slice(0, 0, 4)) + kernels::digest(x.slice(0, 4, 10), 28));
  for (Device device : devices()) {
    std::vector<std::int32_t> labels{-1, 0, 7, 1 << 30};
    std::vector<std::uint8_t> mask{1, 0, 255};
    std::vector<double> wide{1.0 / 3, -0.0, std::nan("7")};
    BOOST_TEST(kernels::digest(Tensor::from(labels, {2, 2}, device)) == numerics::digest(labels.data(), 4));
    BOOST_TEST(kernels::digest(Tensor::from(mask, {3}, device)) == numerics::digest(mask.data(), 3));
    BOOST_TEST(kernels::digest(Tensor::from(mask, {3}, device), 5) == numerics::digest(mask.data(), 3, 5));
    Tensor doubles_there = Tensor::uninitialised({3}, device, Dtype::float64);
    doubles_there.write(wide);
    BOOST_TEST(kernels::digest(doubles_there, 2) == numerics::digest(wide.data(), 3, 2));
  }
}

BOOST_AUTO_TEST_CASE(CMP_3_a_digest_tells_zeros_apart_and_takes_every_NaN_for_one) {
  auto of = [](std::uint32_t bits) {
    return kernels::digest(Tensor::from<float>({1, std::bit_cast<float>(bits)}, {2}));
  };
  BOOST_TEST(of(0) != of(0x80000000u));
  BOOST_TEST(of(0x7fc00000u) == of(0xffc12345u));
  BOOST_TEST(of(0x3f800000u) != of(0x3f800001u));
}

BOOST_AUTO_TEST_CASE(OPT_3_one_element_that_is_not_finite_is_found_wherever_it_stands) {
  constexpr float inf = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  for (Device device : devices())
    for (int count : {1, 3}) {
      set_threads(count);
      for (std::int64_t size : {1, 31, 33, 40000}) {
        BOOST_TEST(kernels::finite(Tensor::full({size}, largest, device)));
        for (std::int64_t at : {std::int64_t{0}, size / 2, size - 1})
          for (float bad : {inf, -inf, std::nanf("")}) {
            std::vector<float> values(static_cast<std::size_t>(size), -largest);
            values[static_cast<std::size_t>(at)] = bad;
            Tensor x = Tensor::from(values, {size}, device);
            BOOST_TEST(!kernels::finite(x));
            if (device == cpu && size < 100) BOOST_TEST(!kernels::finite(strided(x)));
          }
      }
      BOOST_TEST(kernels::finite(Tensor::zeros({0, 3}, device)));
    }
  set_threads(1);
}

BOOST_AUTO_TEST_CASE(OPT_6_a_squared_norm_is_binary64_in_lane_order_over_the_logical_elements) {
  for (const Shape& shape : {Shape{}, {0}, {1}, {31}, {33, 7}, {100, 41}, {3, 4097}}) {
    Tensor x = drawn(shape, 3);
    auto values = x.read<float>();
    double expected = numerics::lane_sum(static_cast<std::size_t>(values.size()), [&](std::size_t i) {
      double value = values[static_cast<std::int64_t>(i)];
      return value * value;
    });
    for (int count : {1, 2, 7}) {
      set_threads(count);
      BOOST_TEST(squares_of(x) == expected);
      BOOST_TEST(squares_of(strided(x)) == expected);
    }
    set_threads(1);
    BOOST_TEST(std::abs(squares_of(x.to(reference_device)) - expected) <= 1e-12 * expected);
  }
  for (Device device : devices()) BOOST_TEST(squares_of(Tensor::full({4}, 0x1p100, device)) == 0x1p202);
}

BOOST_AUTO_TEST_CASE(OPT_6_scaling_rounds_the_factor_once_and_each_product_once) {
  Tensor x = drawn({65, 3}, 4);
  const double factor = 1.0 / 3;
  auto from = x.read<float>(), to = kernels::scale(x, factor).read<float>(),
       view = kernels::scale(strided(x), factor).read<float>();
  for (std::int64_t i = 0; i < x.size(); ++i) {
    BOOST_TEST(to[i] == from[i] * static_cast<float>(factor));
    BOOST_TEST(view[i] == to[i]);
  }
  BOOST_TEST(kernels::scale(Tensor::full({}, 3, reference_device), factor).item() == 3 * factor);
}

BOOST_AUTO_TEST_SUITE_END()
