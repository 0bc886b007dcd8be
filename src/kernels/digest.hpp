// The digest of a tensor's elements.
#pragma once

#include <cstdint>

#include "kernels/dispatch.hpp"
#include "reference/digest.hpp"

namespace assay::kernels {

ASSAY_CPU_KERNEL(std::uint64_t digest(View<const float> x, std::uint64_t first_index);
                 std::uint64_t digest(View<const double> x, std::uint64_t first_index);
                 std::uint64_t digest(View<const std::int32_t> x, std::uint64_t first_index);
                 std::uint64_t digest(View<const std::uint8_t> x, std::uint64_t first_index))

/// The digest that N9 defines, of elements that stand at `first_index` … of the logical tensor; strides never matter.
/// Pieces add up: digest(whole) = digest(first k) + digest(the rest, k), modulo 2⁶⁴.
inline std::uint64_t digest(const Tensor& x, std::uint64_t first_index = 0) {
  return with_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (x.device() == reference_device) return reference::digest(x.read<T>().span(), first_index);
    return launch(x.device(), ASSAY_CPU(digest), As<T>{x}, first_index);
  });
}

}  // namespace assay::kernels
