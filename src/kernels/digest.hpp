// The digest of a tensor's elements.
#pragma once

#include <cstdint>

#include "kernels/record.hpp"
#include "reference/digest.hpp"

namespace assay::kernels {

ASSAY_DECLARE_KERNEL(void digest(View<const float> x, std::uint64_t first_index, View<std::uint64_t> slot);
                     void digest(View<const double> x, std::uint64_t first_index, View<std::uint64_t> slot);
                     void digest(View<const std::int32_t> x, std::uint64_t first_index, View<std::uint64_t> slot);
                     void digest(View<const std::uint8_t> x, std::uint64_t first_index, View<std::uint64_t> slot);
                     void digest(View<const std::uint64_t> x, std::uint64_t first_index, View<std::uint64_t> slot))

/// The digest that N9 defines, of elements that stand at `first_index` … of the logical tensor; strides never matter.
/// Pieces add up: digest(whole) = digest(first k) + digest(the rest, k), modulo 2⁶⁴.
inline void digest(const Tensor& x, const Tensor& slot, std::uint64_t first_index = 0) {
  with_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto oracle = [&](const auto&, std::uint64_t first) { return reference::digest(x.read<T>().span(), first); };
    run_into(slot, ASSAY_KERNEL(digest), oracle, As<T>{x}, first_index);
  });
}
/// The same of bytes on the host.
inline std::uint64_t digest(std::span<const std::uint8_t> x, std::uint64_t first_index) {
  View<const std::uint8_t> view;
  view.data = x.data();
  view.rank = 1;
  view.extent[0] = static_cast<std::int64_t>(x.size());
  view.stride[0] = 1;
  std::uint64_t result = 0;
  ASSAY_KERNEL(digest)(cpu, view, first_index, View<std::uint64_t>{&result});
  return result;
}
inline std::uint64_t digest(const Tensor& x, std::uint64_t first_index = 0) {
  Record record(x.device(), 1);
  digest(x, record.slot(0), first_index);
  return record.bits(0);
}

}  // namespace assay::kernels
