// Subtraction.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/subtract.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void subtract(View<const float> a, View<const float> b, View<float> result))

/// a − b, broadcast by NumPy's rules. Errors: GRAPH-11, GRAPH-13.
inline Tensor subtract(const Tensor& a, const Tensor& b) {
  return run_broadcast("subtract", ASSAY_KERNEL(subtract), reference::subtract, a, b);
}

}  // namespace assay::kernels
