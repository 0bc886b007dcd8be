// Values for tests: drawn tensors, comparisons of bits, and the refusals of the library.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ulp.hpp"
#include "conformance/tensors.hpp"
#include "numerics/philox.hpp"

namespace assay::test {

inline const std::vector<Device>& devices() {
  static const std::vector<Device> all{cpu, simulated, reference_device};
  return all;
}

using conformance::doubles;
using conformance::drawn;
inline Tensor drawn(const Shape& shape, std::uint64_t seed, Device device) { return drawn(shape, seed, -1, 1, device); }

/// Whole numbers in [-limit, limit]: sums of products of a few of them are exact in any order.
inline Tensor whole_numbers(const Shape& shape, std::uint64_t seed, int limit, Device device = cpu) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<float>(static_cast<int>(numerics::uniform(seed, i, 0) * static_cast<float>(2 * limit + 1)) - limit);
  return Tensor::from(values, shape, device);
}

/// Fails naming the first element whose bits differ.
inline void check_same_bits(const Tensor& expected, const Tensor& found, const std::string& what) {
  const std::string difference = conformance::difference(expected, found);
  BOOST_TEST(difference.empty(), what << ": " << difference);
}

/// Fails naming the first element that is further from the oracle than `ulps` units in the last place of `scale`
/// (by default the largest expected magnitude). Refuses a tolerance above a tenth of the largest expected value.
inline void check_close_to_oracle(const Tensor& oracle, const Tensor& found, double ulps, const std::string& what,
                                  double scale = 0) {
  BOOST_REQUIRE_MESSAGE(oracle.shape() == found.shape(), what << ": expected shape " << to_string(oracle.shape())
                                                              << ", found " << to_string(found.shape()));
  std::vector<double> a = doubles(oracle), b = doubles(found);
  double largest = 0;
  for (double value : a)
    if (value - value == 0) largest = std::max(largest, value < 0 ? -value : value);
  if (scale == 0) scale = largest;
  double tolerance = ulps * scale * 0x1p-23;
  BOOST_REQUIRE_MESSAGE(tolerance <= largest / 10 || a.empty() || largest == 0,
                        what << ": the tolerance is too wide to mean anything");
  for (std::size_t i = 0; i < a.size(); ++i) {
    double difference = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
    bool both_nan = a[i] != a[i] && b[i] != b[i];
    if (!(difference <= tolerance) && !both_nan && a[i] != b[i]) {
      BOOST_ERROR(what << ": element " << i << ": the oracle has " << a[i] << ", found " << b[i]
                       << ", allowed difference " << tolerance);
      return;
    }
  }
  BOOST_TEST(true);
}

/// Runs `call` and checks that it is refused with that contract id and a message that contains `fragment`.
template <class Call>
void check_refused(Call&& call, const std::string& id, const std::string& fragment = "") {
  try {
    call();
  } catch (const Error& error) {
    BOOST_TEST(error.id() == id, "refused as " << error.what() << ", expected " << id);
    BOOST_TEST(std::string(error.what()).find(fragment) != std::string::npos,
               "\"" << error.what() << "\" does not contain \"" << fragment << "\"");
    return;
  }
  BOOST_ERROR("not refused; expected " << id);
}

}  // namespace assay::test
