// map: one result element from the operands' elements at the same place, over any strides.
#pragma once

#include "device/cpu/thread_pool.hpp"
#include "numerics/isa.hpp"
#include "tensor/view.hpp"

namespace assay::kernels::ASSAY_ISA {

inline constexpr std::int64_t elements_per_task = 8192;

/// Whether the view is one run of elements.
template <class T>
ASSAY_INLINE bool is_contiguous(const View<T>& view) {
  std::int64_t expected = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.extent[axis] != 1 && view.stride[axis] != expected) return false;
    expected *= view.extent[axis];
  }
  return true;
}

template <class T>
ASSAY_INLINE std::int64_t size_of(const View<T>& view) {
  std::int64_t size = 1;
  for (int axis = 0; axis < view.rank; ++axis) size *= view.extent[axis];
  return size;
}

/// The view's first element in row `row`, where rows are the runs along the last axis.
template <class T>
ASSAY_INLINE T* row_start(const View<T>& view, std::int64_t row) {
  std::int64_t offset = 0;
  for (int axis = view.rank - 2; axis >= 0; --axis) {
    offset += row % view.extent[axis] * view.stride[axis];
    row /= view.extent[axis];
  }
  return view.data + offset;
}

/// result[i] = f(operands[i]…) for every logical index; the operands have the result's extents.
template <class F, class Result, class... Operand>
void map(F f, View<Result> result, View<Operand>... operands) {
  std::int64_t size = size_of(result);
  if (size == 0) return;
  if (is_contiguous(result) && (is_contiguous(operands) && ...)) {
    parallel_for(size, elements_per_task, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) result.data[i] = f(operands.data[i]...);
    });
    return;
  }
  // A view that is not contiguous has an axis.
  int last = result.rank - 1;
  std::int64_t length = result.extent[last];
  bool unit = result.stride[last] == 1 && ((operands.stride[last] == 1) && ...);
  parallel_for(size / length, elements_per_task / length + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      [=](Result* to, Operand*... from) {
        if (unit)
          for (std::int64_t i = 0; i < length; ++i) to[i] = f(from[i]...);
        else
          for (std::int64_t i = 0; i < length; ++i) to[i * result.stride[last]] = f(from[i * operands.stride[last]]...);
      }(row_start(result, row), row_start(operands, row)...);
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
