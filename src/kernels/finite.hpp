// Whether all elements of a tensor are finite.
#pragma once

#include "kernels/record.hpp"
#include "reference/finite.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void finite(View<const float> x, View<std::uint64_t> slot))

/// Whether no element is NaN or infinite; true for a tensor without elements.
inline bool finite(const Tensor& x) {
  Record record(x.device(), 1);
  run_into(
      record.slot(0), ASSAY_KERNEL(finite), [](const auto& a) { return reference::finite(a); }, x);
  return record.bits(0) != 0;
}

}  // namespace assay::kernels
