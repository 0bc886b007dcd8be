// Maximum over one axis.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/maximum.hpp"

namespace assay::kernels {

/// Over the last axis; every operand is contiguous.
ASSAY_DECLARE_KERNEL(void maximum(View<const float> x, View<float> y))
ASSAY_DECLARE_KERNEL(void maximum_gradient(View<const float> x, View<const float> upstream, View<float> gradient))

/// The maximum of N1 over `axis`, which vanishes from the shape. Errors: ACC-4 for an axis that does not exist or has
/// no elements.
inline Tensor maximum(const Tensor& x, int axis) {
  int from = x.shape().index(axis);
  if (x.shape()[from] == 0)
    throw Error("ACC-4", "maximum over axis " + std::to_string(axis), "at least one element", to_string(x.shape()));
  Tensor rows = contiguous(x.move_axis(from, x.shape().rank() - 1));
  return run(Tensor::uninitialised(x.shape().without(from), x.device()), ASSAY_KERNEL(maximum), reference::maximum,
             rows);
}

/// The upstream gradient at the lowest index of each maximum (a NaN first, +0 before −0), +0 elsewhere.
inline Tensor maximum_gradient(const Tensor& x, int axis, const Tensor& upstream) {
  int from = x.shape().index(axis), last = x.shape().rank() - 1;
  Tensor rows = contiguous(x.move_axis(from, last));
  return run(Tensor::uninitialised(rows.shape(), x.device()), ASSAY_KERNEL(maximum_gradient),
             reference::maximum_gradient, rows, contiguous(upstream))
      .move_axis(last, from);
}

}  // namespace assay::kernels
