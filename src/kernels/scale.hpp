// Multiplication by a host scalar.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/scale.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void scale(View<const float> x, float factor, View<float> y))

/// x · factor in a new tensor, the factor rounded once to the device's real type.
inline Tensor scale(const Tensor& x, double factor) {
  return run(Tensor::uninitialised(x.shape(), x.device()),
             named("scale",
                   [](Device device, auto from, double by, auto to) {
                     ASSAY_KERNEL(scale)
                     (device, from, static_cast<float>(by), to);
                   }),
             reference::scale, x, factor);
}

}  // namespace assay::kernels
