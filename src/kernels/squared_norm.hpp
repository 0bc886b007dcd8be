// Sums of squares in binary64, and scaling by the root of their sum.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/multiply.hpp"
#include "kernels/record.hpp"
#include "numerics/norm.hpp"
#include "reference/scale.hpp"
#include "reference/squared_norm.hpp"

namespace assay::kernels {

/// x is contiguous; the slot takes the sum, as binary64.
ASSAY_DECLARE_KERNEL(void squared_norm(View<const float> x, View<std::uint64_t> slot))
/// The factor of `scaled_to_norm`, one number.
ASSAY_DECLARE_KERNEL(void norm_factor(View<const std::uint64_t> squares, double limit, View<float> factor))

/// Σ x² over all elements of each tensor, into its slot: in lane order (N3), in binary64, where products of binary32
/// are exact and cannot overflow. In one launch.
inline void squared_norms(const std::vector<Tensor>& tensors, const Tensor& slots) {
  auto rounded = [](double squares) { return sabotaged("norm_in_binary32") ? static_cast<float>(squares) : squares; };
  if (slots.device() == reference_device) {
    std::vector<std::uint64_t> squares;
    for (const Tensor& x : tensors) squares.push_back(as_bits(rounded(reference::squared_norm(oracle_operand(x)))));
    return write_slots(slots, squares);
  }
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors) rows.push_back(contiguous(x));
  auto fill = [&](Device device, View<std::uint64_t> to) {
    for (std::size_t i = 0; i < rows.size(); ++i) ASSAY_KERNEL(squared_norm)(device, operand(rows[i]), slot_of(to, i));
  };
  launch(slots.device(), named("squared_norms", fill), Slot{slots});
  if (sabotaged("norm_in_binary32")) {
    std::vector<std::uint64_t> squares;
    for (std::uint64_t bits : slots.slice(0, 0, static_cast<std::int64_t>(rows.size())).read<std::uint64_t>())
      squares.push_back(as_bits(rounded(std::bit_cast<double>(bits))));
    write_slots(slots, squares);
  }
}

/// x·(limit ÷ norm) for each tensor if their norm is above `limit`, else copies. `squared_norms` has filled the slots:
/// the factor is computed where they are, in binary64, and rounded once. In one launch.
inline std::vector<Tensor> scaled_to_norm(const std::vector<Tensor>& tensors, const Tensor& slots, double limit) {
  std::vector<Tensor> scaled;
  for (const Tensor& x : tensors) scaled.push_back(Tensor::uninitialised(x.shape(), x.device()));
  if (slots.device() == reference_device) {
    const double by = numerics::norm_factor(slots.read<std::uint64_t>().data(), tensors.size(), limit);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      scaled[i].write(reference::scale(oracle_operand(tensors[i]), by).values);
    return scaled;
  }
  const Tensor factor = Tensor::uninitialised({}, slots.device());
  auto scale_all = [&](Device device, View<const std::uint64_t> squares, View<float> by) {
    squares.extent[0] = static_cast<std::int64_t>(tensors.size());
    ASSAY_KERNEL(norm_factor)(device, squares, limit, by);
    for (std::size_t i = 0; i < tensors.size(); ++i) ASSAY_KERNEL(multiply)
    (device, operand(tensors[i]), operand(factor.expand(tensors[i].shape())), operand(Out{scaled[i]}));
  };
  launch(slots.device(), named("scaled_to_norm", scale_all), As<std::uint64_t>{slots}, Out{factor});
  return scaled;
}

}  // namespace assay::kernels
