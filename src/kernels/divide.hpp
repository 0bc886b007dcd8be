// Division.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/divide.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void divide(View<const float> a, View<const float> b, View<float> result))

/// a ÷ b, broadcast by NumPy's rules. Errors: GRAPH-11, GRAPH-13.
inline Tensor divide(const Tensor& a, const Tensor& b) {
  return run_broadcast("divide", ASSAY_KERNEL(divide), reference::divide, a, b);
}

}  // namespace assay::kernels
