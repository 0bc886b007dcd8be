// Copy into row-major order.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/copy.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void copy(View<const float> x, View<float> y))

/// Writes x's value into the elements that `target` shows, of the same shape.
inline void copy_into(const Tensor& x, Tensor target) {
  run(std::move(target), ASSAY_KERNEL(copy), reference::copy, x);
}

/// The same value in a new tensor of its own, row-major.
inline Tensor copy(const Tensor& x) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(copy), reference::copy, x);
}

/// x itself where it is row-major already, else a copy.
inline Tensor contiguous(const Tensor& x) { return x.contiguous() || sabotaged("strides_are_ignored") ? x : copy(x); }

}  // namespace assay::kernels
