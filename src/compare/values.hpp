// How far two lists of numbers are apart: two tensors, or one metric over all steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/array.hpp"
#include "compare/policy.hpp"

namespace assay {

/// The elements of an array of any type, row-major; integers beyond 2⁵³ are rounded.
std::vector<double> widen(const Array& array);

/// Statistics over all elements. A NaN beside a number counts as infinitely far, 2⁶⁴ − 1 ULPs; beside a NaN as equal.
struct ValueDifference {
  /// The first element that the policy does not accept.
  struct Element {
    std::size_t index = 0;  ///< row-major
    double a = 0, b = 0;
    std::uint64_t ulp = 0;
  };

  bool equal = true;  ///< every element has the same bits, and the element types are the same
  std::size_t elements = 0, different = 0;
  std::uint64_t max_ulp = 0;
  double max_abs = 0;
  double max_rel = 0;  ///< |a − b| / max(|a|, |b|)
  double rms = 0;      ///< root of the mean of (a − b)²
  std::optional<Element> refused;

  bool within() const { return !refused; }
};

/// Compares two lists of the same length. `narrow` as in `Policy::accepts`.
ValueDifference compare_values(std::span<const double> a, std::span<const double> b, bool narrow, const Policy& policy);

/// Compares two arrays; float32 beside float64 is widened, and ULPs are then those of float32. Under `bitwise` arrays
/// of different element types are refused at their first element.
/// Errors: CMP-4 naming `name` when the shapes differ or a type is neither float32 nor float64 and not the other's.
///
///     ValueDifference difference = compare_arrays("fc1.bias", one, other, parse_policy("ulp:4"));
ValueDifference compare_arrays(const std::string& name, const Array& a, const Array& b, const Policy& policy);

/// The value in the middle of their order, of an even number the lower of the two; 0 of none. Reorders them.
template <class T>
T median(std::span<T> values) {
  if (values.empty()) return T(0);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// "[3, 17]": where the row-major element `index` stands in a tensor of this shape.
std::string index_text(std::span<const std::int64_t> shape, std::size_t index);

}  // namespace assay
