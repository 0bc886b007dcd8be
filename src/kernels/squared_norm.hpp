// Sum of squares in binary64.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/record.hpp"
#include "reference/squared_norm.hpp"

namespace assay::kernels {

/// x is contiguous.
ASSAY_CPU_KERNEL(double squared_norm(View<const float> x))

/// Σ x² over all elements in lane order (N3), in binary64: products of binary32 are exact there and cannot overflow.
inline void squared_norm(const Tensor& x, const Tensor& slot) {
  run_into(slot, ASSAY_CPU(squared_norm), reference::squared_norm, contiguous(x));
}
inline double squared_norm(const Tensor& x) {
  Record record(x.device(), 1);
  squared_norm(x, record.slot(0));
  return record.number(0);
}

}  // namespace assay::kernels
