// Natural logarithm.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/log.hpp"

namespace assay::kernels {

ASSAY_DECLARE_FAST_KERNEL(void log(View<const float> x, View<float> y))

/// log x, correctly rounded.
inline Tensor log(const Tensor& x) {
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(log), reference::log, x);
}

}  // namespace assay::kernels
