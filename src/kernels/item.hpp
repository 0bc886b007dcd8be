// The number that a tensor of one element holds.
#pragma once

#include "kernels/record.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void item(View<const float> x, View<std::uint64_t> slot))

/// Puts the only element of x into a slot, as binary64.
inline void item(const Tensor& x, const Tensor& slot) {
  run_into(
      slot, ASSAY_KERNEL(item), [](const reference::Array& from) { return from.values[0]; }, x);
}

}  // namespace assay::kernels
