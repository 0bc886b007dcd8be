// Exponential function.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/exp.hpp"

namespace assay::kernels {

ASSAY_DECLARE_FAST_KERNEL(void exp(View<const float> x, View<float> y))

/// eˣ, correctly rounded.
inline Tensor exp(const Tensor& x) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(exp), reference::exp, x);
}

}  // namespace assay::kernels
