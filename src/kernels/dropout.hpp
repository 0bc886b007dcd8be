// Dropout under a mask that is given.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/dropout.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void dropout(View<const float> x, View<const std::uint8_t> mask, double p, View<float> y))

/// x·binary32(1 ÷ (1 − p)) where the mask is not 0, else +0. Errors: MODE-3, ACC-4, GRAPH-13 as assay::dropout.
inline Tensor dropout(const Tensor& x, const Tensor& mask, double p) {
  if (!(p >= 0 && p < 1)) throw Error("MODE-3", "dropout", "p in [0, 1)", std::to_string(p));
  require_same_device("dropout", x, mask);
  if (!(x.shape() == mask.shape()))
    throw Error("ACC-4", "dropout", "a mask " + to_string(x.shape()), to_string(mask.shape()));
  return run(Tensor::uninitialised(x.shape(), x.device()), ASSAY_KERNEL(dropout), reference::dropout, x, Mask{mask}, p);
}

}  // namespace assay::kernels
