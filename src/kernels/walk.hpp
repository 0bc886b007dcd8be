// Walk: several views of the same extents side by side, in as few axes as their strides allow.
#pragma once

#include <cstdint>

#include "numerics/isa.hpp"
#include "tensor/view.hpp"

namespace assay::kernels::ASSAY_ISA {

inline constexpr std::int64_t elements_per_task = 8192;

template <class T>
ASSAY_INLINE std::int64_t size_of(const View<T>& view) {
  std::int64_t size = 1;
  for (int axis = 0; axis < view.rank; ++axis) size *= view.extent[axis];
  return size;
}

/// Axes of extent 1 are left out, and an axis that continues the next one in every view is merged with it; logical
/// elements keep their row-major order. There is at least one axis.
template <int views>
struct Walk {
  int last = 0;
  std::int64_t size = 1;
  std::int64_t extent[6] = {1};
  std::int64_t stride[6][views] = {};

  const std::int64_t* inner_stride() const { return stride[last]; }

  /// offset[v] = where the element of that flat index is in view v.
  ASSAY_INLINE void locate(std::int64_t index, std::int64_t* offset) const {
    for (int v = 0; v < views; ++v) offset[v] = 0;
    for (int axis = last; axis >= 0; --axis) {
      const std::int64_t rest = axis == 0 ? 0 : index / extent[axis], at = index - rest * extent[axis];
      for (int v = 0; v < views; ++v) offset[v] += at * stride[axis][v];
      index = rest;
    }
  }

  /// Calls body(first, count, offsets) so that runs along the last axis cover elements begin … end − 1, ascending:
  /// `count` elements from flat index `first` on, the first of them at offsets[v] in view v.
  template <class Body>
  ASSAY_INLINE void runs(std::int64_t begin, std::int64_t end, Body body) const {
    if (begin >= end) return;  // an extent may be 0
    std::int64_t index[6], offset[views] = {};
    std::int64_t rest = begin;
    for (int axis = last; axis >= 0; --axis) {
      index[axis] = axis == 0 ? rest : rest % extent[axis];
      rest /= extent[axis];
      for (int v = 0; v < views; ++v) offset[v] += index[axis] * stride[axis][v];
    }
    while (begin < end) {
      const std::int64_t left = extent[last] - index[last], count = left < end - begin ? left : end - begin;
      body(begin, count, static_cast<const std::int64_t*>(offset));
      begin += count;
      index[last] += count;
      for (int v = 0; v < views; ++v) offset[v] += count * stride[last][v];
      for (int axis = last; axis > 0 && index[axis] == extent[axis]; --axis) {
        index[axis] = 0;
        ++index[axis - 1];
        for (int v = 0; v < views; ++v) offset[v] += stride[axis - 1][v] - extent[axis] * stride[axis][v];
      }
    }
  }
};

/// Over the axes from … to − 1 of the views.
template <class... T>
Walk<sizeof...(T)> walk_of(int from, int to, const View<T>&... views) {
  constexpr int number = sizeof...(T);
  Walk<number> walk;
  for (int v = 0; v < number; ++v) walk.stride[0][v] = 1;  // of the only element, if nothing else is found
  bool empty = true;
  for (int axis = from; axis < to; ++axis) {
    const std::int64_t extents[] = {views.extent[axis]...}, strides[] = {views.stride[axis]...}, extent = extents[0];
    walk.size *= extent;
    if (extent == 1) continue;
    bool continues = !empty;
    for (int v = 0; v < number; ++v) continues = continues && walk.stride[walk.last][v] == strides[v] * extent;
    if (!continues) {
      walk.last += empty ? 0 : 1;
      walk.extent[walk.last] = 1;
    }
    empty = false;
    walk.extent[walk.last] *= extent;
    for (int v = 0; v < number; ++v) walk.stride[walk.last][v] = strides[v];
  }
  return walk;
}

}  // namespace assay::kernels::ASSAY_ISA
