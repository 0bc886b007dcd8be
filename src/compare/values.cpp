// Comparing numbers element by element.
#include "compare/values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.hpp"

namespace assay {
namespace {

bool is_floating(ElementType type) { return type == ElementType::float32 || type == ElementType::float64; }

template <class T>
std::vector<double> widen_as(const Array& array) {
  const std::vector<T> values = array.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<double> widen(const Array& array) {
  switch (array.type) {
    case ElementType::float32:
      return widen_as<float>(array);
    case ElementType::float64:
      return widen_as<double>(array);
    case ElementType::int32:
      return widen_as<std::int32_t>(array);
    case ElementType::uint8:
      return widen_as<std::uint8_t>(array);
    case ElementType::uint64:
      return widen_as<std::uint64_t>(array);
  }
  return {};
}

ValueDifference compare_values(std::span<const double> a, std::span<const double> b, bool narrow,
                               const Policy& policy) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ValueDifference result;
  result.elements = a.size();
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same_bits(a[i], b[i])) continue;
    const std::uint64_t ulp = ulps_between(a[i], b[i], narrow);
    const bool comparable = !std::isnan(a[i]) && !std::isnan(b[i]);
    const double distance = comparable ? std::fabs(a[i] - b[i]) : infinity;
    const double scale = std::max(std::fabs(a[i]), std::fabs(b[i]));
    result.equal = false;
    ++result.different;
    result.max_ulp = std::max(result.max_ulp, ulp);
    result.max_abs = std::max(result.max_abs, distance);
    if (distance > 0) result.max_rel = std::max(result.max_rel, std::isfinite(distance) ? distance / scale : infinity);
    squares += distance * distance;
    if (!result.refused && !policy.accepts(a[i], b[i], narrow))
      result.refused = ValueDifference::Element{i, a[i], b[i], ulp};
  }
  if (result.elements > 0) result.rms = std::sqrt(squares / static_cast<double>(result.elements));
  return result;
}

ValueDifference compare_arrays(const std::string& name, const Array& a, const Array& b, const Policy& policy) {
  if (a.shape != b.shape) throw Error("CMP-4", "compare " + name, "shape " + shape_text(a.shape), shape_text(b.shape));
  if (a.type != b.type && !(is_floating(a.type) && is_floating(b.type)))
    throw Error("CMP-4", "compare " + name, element_name(a.type), element_name(b.type));
  const std::vector<double> values_a = widen(a), values_b = widen(b);
  const bool narrow = a.type == ElementType::float32 || b.type == ElementType::float32;
  ValueDifference result = compare_values(values_a, values_b, narrow, policy);
  // Whole numbers are the same or not, and above 2⁵³ widening hides a difference.
  const bool same = is_floating(a.type) ? a.type == b.type : a.bytes == b.bytes;
  if (!same && !values_a.empty()) {
    result.equal = false;
    if (!result.refused && (policy.kind == Policy::Kind::bitwise || !is_floating(a.type)))
      result.refused = ValueDifference::Element{0, values_a[0], values_b[0], 0};
  }
  return result;
}

std::string index_text(std::span<const std::int64_t> shape, std::size_t index) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    place[axis] = static_cast<std::int64_t>(index % extent);
    index /= extent;
  }
  return shape_text(place);
}

}  // namespace assay
