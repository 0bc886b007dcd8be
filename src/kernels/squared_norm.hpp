// Sum of squares in binary64.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "reference/squared_norm.hpp"

namespace assay::kernels {

/// x is contiguous.
ASSAY_CPU_KERNEL(double squared_norm(View<const float> x))

/// Σ x² over all elements in lane order (N3), in binary64: products of binary32 are exact there and cannot overflow.
inline double squared_norm(const Tensor& x) {
  if (x.device() == reference_device) return reference::squared_norm(oracle_operand(x));
  return launch(x.device(), ASSAY_CPU(squared_norm), contiguous(x));
}

}  // namespace assay::kernels
