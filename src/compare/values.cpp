// Comparing numbers element by element.
#include "compare/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/ulp.hpp"

namespace assay {
namespace {

bool is_floating(ElementType type) { return type == ElementType::float32 || type == ElementType::float64; }

template <class T, class U>
bool same_bytes(std::span<const T> a, std::span<const U> b) {
  return std::is_same_v<T, U> && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

template <class T, class U>
ValueDifference compare_spans(std::span<const T> a, std::span<const U> b, bool narrow, const Policy& policy) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr std::size_t block = 1024;
  ValueDifference result;
  result.elements = a.size();
  double squares = 0;
  for (std::size_t begin = 0; begin < a.size(); begin += block) {
    const std::size_t end = std::min(begin + block, a.size());
    if (same_bytes(a.subspan(begin, end - begin), b.subspan(begin, end - begin))) continue;
    for (std::size_t i = begin; i < end; ++i) {
      const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
      if (!(x < y || x > y) && same_bits(x, y)) continue;
      const std::uint64_t ulp =
          narrow ? ulp_distance(static_cast<float>(x), static_cast<float>(y)) : ulp_distance(x, y);
      const double distance = std::isnan(x) || std::isnan(y) ? infinity : std::fabs(x - y);
      const double scale = std::max(std::fabs(x), std::fabs(y));
      result.equal = false;
      ++result.different;
      result.max_ulp = std::max(result.max_ulp, ulp);
      result.max_abs = std::max(result.max_abs, distance);
      if (distance > 0)
        result.max_rel = std::max(result.max_rel, std::isfinite(distance) ? distance / scale : infinity);
      squares += distance * distance;
      if (!result.refused && !policy.accepts(x, y, narrow)) result.refused = ValueDifference::Element{i, x, y, ulp};
    }
  }
  if (result.elements > 0) result.rms = std::sqrt(squares / static_cast<double>(result.elements));
  return result;
}

/// Calls visit(view) with the elements of the array as what they are.
template <class Visit>
auto visit_elements(const Array& array, Visit visit) {
  switch (array.type) {
    case ElementType::float32:
      return visit(array.view<float>());
    case ElementType::float64:
      return visit(array.view<double>());
    case ElementType::int32:
      return visit(array.view<std::int32_t>());
    case ElementType::uint64:
      return visit(array.view<std::uint64_t>());
    case ElementType::uint8:
      break;
  }
  return visit(array.view<std::uint8_t>());
}

}  // namespace

std::vector<double> widen(const Array& array) {
  return visit_elements(array, [](auto elements) { return std::vector<double>(elements.begin(), elements.end()); });
}

ValueDifference compare_values(std::span<const double> a, std::span<const double> b, bool narrow,
                               const Policy& policy) {
  return compare_spans(a, b, narrow, policy);
}

ValueDifference compare_arrays(const std::string& name, const Array& a, const Array& b, const Policy& policy) {
  if (a.shape != b.shape) throw Error("CMP-4", "compare " + name, "shape " + shape_text(a.shape), shape_text(b.shape));
  if (a.type != b.type && !(is_floating(a.type) && is_floating(b.type)))
    throw Error("CMP-4", "compare " + name, element_name(a.type), element_name(b.type));
  const bool narrow = a.type == ElementType::float32 || b.type == ElementType::float32;
  return visit_elements(a, [&](auto values_a) {
    return visit_elements(b, [&](auto values_b) {
      ValueDifference result = compare_spans(values_a, values_b, narrow, policy);
      // Whole numbers are the same or not, and above 2⁵³ widening hides a difference.
      const bool same = is_floating(a.type) ? a.type == b.type : a.bytes == b.bytes;
      if (!same && !values_a.empty()) {
        result.equal = false;
        if (!result.refused && (policy.kind == Policy::Kind::bitwise || !is_floating(a.type)))
          result.refused =
              ValueDifference::Element{0, static_cast<double>(values_a[0]), static_cast<double>(values_b[0]), 0};
      }
      return result;
    });
  });
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
