// Whether a tensor is finite.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/finite.hpp"

namespace assay::kernels {

ASSAY_CPU_KERNEL(bool finite(View<const float> x))

/// Whether no element is NaN or infinite; true for a tensor without elements.
inline bool finite(const Tensor& x) {
  if (x.device() == reference_device) return reference::finite(oracle_operand(x));
  return launch(x.device(), ASSAY_CPU(finite), x);
}

}  // namespace assay::kernels
