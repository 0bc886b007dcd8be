// The number that a tensor of one element holds.
#pragma once

#include "kernels/record.hpp"

namespace assay::kernels {

/// Puts the only element of x into a slot, as binary64.
inline void item(const Tensor& x, const Tensor& slot) {
  run_into(
      slot, named("item", [](View<const float> from) { return static_cast<double>(*from.data); }),
      [](const reference::Array& from) { return from.values[0]; }, x);
}

}  // namespace assay::kernels
