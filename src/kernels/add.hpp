// Addition.
#pragma once

#include "kernels/dispatch.hpp"
#include "reference/add.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void add(View<const float> a, View<const float> b, View<float> result))

/// a + b, broadcast by NumPy's rules. Errors: GRAPH-11, GRAPH-13.
inline Tensor add(const Tensor& a, const Tensor& b) {
  return run_broadcast("add", ASSAY_KERNEL(add), reference::add, a, b);
}

}  // namespace assay::kernels
