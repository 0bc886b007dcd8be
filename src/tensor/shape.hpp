// Shape: the extents of a tensor, at most six.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace assay {

inline constexpr int max_rank = 6;

/// The extents of a tensor, outermost first; a scalar has none. An extent of 0 is allowed: the tensor is empty.
/// Errors: ACC-4 for a negative extent, more than six of them, or more than 2⁶² elements.
///
///     Shape shape{128, 784};
///     shape.size();  // 100352
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(const std::vector<std::int64_t>& extents);

  int rank() const { return rank_; }
  std::int64_t size() const;
  /// Extent of an axis; a negative one counts from the last. Errors: ACC-4 for an axis that does not exist.
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(index(axis))]; }
  /// The axis as a number from 0; errors as above.
  int index(int axis) const;

  /// Without one axis; with an extent replaced.
  Shape without(int axis) const;
  Shape with(int axis, std::int64_t extent) const;

  std::vector<std::int64_t> extents() const { return {extents_.begin(), extents_.begin() + rank_}; }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, max_rank> extents_{};
  int rank_ = 0;
};

/// "[128, 784]"; a scalar is "[]".
std::string to_string(const Shape& shape);

/// The shape that two operands have together under NumPy's rules: aligned at the last axis, an extent of 1 stretches.
/// Errors: GRAPH-11 naming the operation and both shapes.
Shape broadcast(const char* operation, const Shape& a, const Shape& b);

}  // namespace assay
