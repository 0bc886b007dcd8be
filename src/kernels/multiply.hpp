// Multiplication.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/multiply.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void multiply(View<const float> a, View<const float> b, View<float> result))

/// a · b, broadcast by NumPy's rules. Errors: GRAPH-11, GRAPH-13.
inline Tensor multiply(const Tensor& a, const Tensor& b) {
  return run_broadcast("multiply", ASSAY_KERNEL(multiply), reference::multiply, a, b);
}

}  // namespace assay::kernels
