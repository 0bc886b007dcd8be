// Sums of squares in binary64, and scaling by the root of their sum.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/record.hpp"
#include "kernels/scale.hpp"
#include "numerics/scalar.hpp"
#include "reference/squared_norm.hpp"

namespace assay::kernels {

/// x is contiguous.
ASSAY_CPU_KERNEL(double squared_norm(View<const float> x))

/// Σ x² over all elements of each tensor, into its slot: in lane order (N3), in binary64, where products of binary32
/// are exact and cannot overflow.
inline void squared_norms(const std::vector<Tensor>& tensors, const Tensor& slots) {
  auto kept = [](double squares) { return sabotaged("norm_in_binary32") ? static_cast<float>(squares) : squares; };
  if (slots.device() == reference_device) {
    std::vector<std::uint64_t> squares;
    for (const Tensor& x : tensors) squares.push_back(as_bits(kept(reference::squared_norm(oracle_operand(x)))));
    return write_slots(slots, squares);
  }
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors) rows.push_back(contiguous(x));
  auto fill = [&](View<std::uint64_t> to) {
    for (std::size_t i = 0; i < rows.size(); ++i) to.data[i] = as_bits(kept(ASSAY_CPU(squared_norm)(operand(rows[i]))));
  };
  launch(slots.device(), named("squared_norms", fill), Slot{slots});
}

/// The norm of all tensors together, from the sums of squares of `count` tensors, added in their order.
inline double norm_of(const std::uint64_t* squares, std::size_t count) {
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += std::bit_cast<double>(squares[i]);
  return numerics::square_root(total);
}

/// Whether tensors of this norm are to be scaled to `limit`: strictly above it, and finite.
inline bool is_above(double norm, double limit) { return norm > limit && norm - norm == 0; }

/// x·(limit ÷ norm) for each tensor if their norm is above `limit`, else copies. `squared_norms` has filled the slots:
/// the factor is computed where they are, in binary64, and rounded once. In one launch.
inline std::vector<Tensor> scaled_to_norm(const std::vector<Tensor>& tensors, const Tensor& slots, double limit) {
  auto factor = [&](const std::uint64_t* squares) {
    const double norm = norm_of(squares, tensors.size());
    return is_above(norm, limit) ? limit / norm : 1;
  };
  std::vector<Tensor> scaled;
  for (const Tensor& x : tensors) scaled.push_back(Tensor::uninitialised(x.shape(), x.device()));
  if (slots.device() == reference_device) {
    const double by = factor(slots.read<std::uint64_t>().data());
    for (std::size_t i = 0; i < tensors.size(); ++i)
      scaled[i].write(reference::scale(oracle_operand(tensors[i]), by).values);
    return scaled;
  }
  auto scale_all = [&](View<const std::uint64_t> squares) {
    const auto by = static_cast<float>(factor(squares.data));
    for (std::size_t i = 0; i < tensors.size(); ++i) ASSAY_CPU(scale)(operand(tensors[i]), by, operand(Out{scaled[i]}));
  };
  launch(slots.device(), named("scaled_to_norm", scale_all), As<std::uint64_t>{slots});
  return scaled;
}

}  // namespace assay::kernels
