// Array: the operand of the float64 oracle, row-major and owning. Nothing here includes anything of src.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::reference {

/// Values in row-major order and their extents. Labels and masks are held as doubles too.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  double& operator[](std::int64_t index) { return values[static_cast<std::size_t>(index)]; }
  double operator[](std::int64_t index) const { return values[static_cast<std::size_t>(index)]; }
};

/// An array of zeros.
inline Array zeros(std::vector<std::int64_t> shape) {
  std::int64_t size = 1;
  for (std::int64_t extent : shape) size *= extent;
  return {std::move(shape), std::vector<double>(static_cast<std::size_t>(size))};
}

/// f applied to each element, or to each pair of elements of two arrays of one shape.
template <class F>
Array map(const Array& a, F f) {
  Array result = zeros(a.shape);
  for (std::int64_t i = 0; i < a.size(); ++i) result[i] = f(a[i]);
  return result;
}
template <class F>
Array map(const Array& a, const Array& b, F f) {
  Array result = zeros(a.shape);
  for (std::int64_t i = 0; i < a.size(); ++i) result[i] = f(a[i], b[i]);
  return result;
}

/// Rows of the last axis: their length, and how many there are.
inline std::int64_t row_length(const Array& a) { return a.shape.back(); }
inline std::int64_t row_count(const Array& a) { return row_length(a) == 0 ? 0 : a.size() / row_length(a); }

}  // namespace assay::reference
