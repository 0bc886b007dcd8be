// The digest of a tensor's elements.
#pragma once

#include <cstdint>

#include "kernels/record.hpp"
#include "reference/digest.hpp"

namespace assay::kernels {

ASSAY_CPU_KERNEL(std::uint64_t digest(View<const float> x, std::uint64_t first_index);
                 std::uint64_t digest(View<const double> x, std::uint64_t first_index);
                 std::uint64_t digest(View<const std::int32_t> x, std::uint64_t first_index);
                 std::uint64_t digest(View<const std::uint8_t> x, std::uint64_t first_index);
                 std::uint64_t digest(View<const std::uint64_t> x, std::uint64_t first_index))

/// The digest that N9 defines, of elements that stand at `first_index` … of the logical tensor; strides never matter.
/// Pieces add up: digest(whole) = digest(first k) + digest(the rest, k), modulo 2⁶⁴.
inline void digest(const Tensor& x, const Tensor& slot, std::uint64_t first_index = 0) {
  with_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto oracle = [&](const auto&, std::uint64_t first) { return reference::digest(x.read<T>().span(), first); };
    run_into(slot, ASSAY_CPU(digest), oracle, As<T>{x}, first_index);
  });
}
/// The same of bytes on the host.
inline std::uint64_t digest(std::span<const std::uint8_t> x, std::uint64_t first_index) {
  View<const std::uint8_t> view;
  view.data = x.data();
  view.rank = 1;
  view.extent[0] = static_cast<std::int64_t>(x.size());
  view.stride[0] = 1;
  return ASSAY_CPU(digest)(view, first_index);
}
inline std::uint64_t digest(const Tensor& x, std::uint64_t first_index = 0) {
  Record record(x.device(), 1);
  digest(x, record.slot(0), first_index);
  return record.bits(0);
}

}  // namespace assay::kernels
