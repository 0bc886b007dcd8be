// Shape arithmetic and its refusals.
#include "tensor/shape.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace assay {

Shape::Shape(std::initializer_list<std::int64_t> extents) : Shape(std::vector<std::int64_t>(extents)) {}

Shape::Shape(const std::vector<std::int64_t>& extents) {
  if (extents.size() > static_cast<std::size_t>(max_rank))
    throw Error("ACC-4", "shape", "at most 6 axes", std::to_string(extents.size()));
  std::int64_t size = 1;
  for (std::int64_t extent : extents) {
    if (extent < 0) throw Error("ACC-4", "shape", "extents that are not negative", std::to_string(extent));
    if (extent > 0 && size > (std::int64_t{1} << 62) / extent)
      throw Error("ACC-4", "shape", "at most 2^62 elements", "more");
    size *= std::max<std::int64_t>(extent, 1);
    extents_[static_cast<std::size_t>(rank_++)] = extent;
  }
}

std::int64_t Shape::size() const {
  std::int64_t size = 1;
  for (int axis = 0; axis < rank_; ++axis) size *= extents_[static_cast<std::size_t>(axis)];
  return size;
}

int Shape::index(int axis) const {
  int counted = axis < 0 ? axis + rank_ : axis;
  if (counted < 0 || counted >= rank_)
    throw Error("ACC-4", "axis", "an axis of " + to_string(*this), std::to_string(axis));
  return counted;
}

Shape Shape::without(int axis) const {
  std::vector<std::int64_t> kept = extents();
  kept.erase(kept.begin() + index(axis));
  return Shape(kept);
}

Shape Shape::with(int axis, std::int64_t extent) const {
  std::vector<std::int64_t> changed = extents();
  changed[static_cast<std::size_t>(index(axis))] = extent;
  return Shape(changed);
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) text += (axis ? ", " : "") + std::to_string(shape[axis]);
  return text + "]";
}

Shape broadcast(const char* operation, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int back = 1; back <= shorter.rank(); ++back) {
    if (longer[-back] == 1)
      result = result.with(-back, shorter[-back]);
    else if (shorter[-back] != 1 && shorter[-back] != longer[-back])
      throw Error("GRAPH-11", operation, "shapes that broadcast", to_string(a) + " and " + to_string(b));
  }
  return result;
}

}  // namespace assay
