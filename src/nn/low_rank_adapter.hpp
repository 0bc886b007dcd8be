// LowRankAdapter: what a linear layer learns beside a weight that stays as it is.
#pragma once

#include "autograd/parameter.hpp"
#include "numerics/random.hpp"

namespace assay {

struct LowRankOptions {
  std::int64_t rank = 8;  ///< from 1 to the smaller width of the layer
  double alpha = 16;      ///< the contribution is multiplied by alpha ÷ rank
};

/// The addition (α/r)·(x·Aᵀ)·Bᵀ to a layer's output, with A "down" [r, in] and B "up" [out, r].
///
/// Computed as y − ((−α/r)·(x·Aᵀ))·Bᵀ, −α/r rounded once to binary32: as long as B is zero the subtrahend is +0 in
/// every element (for finite x·Aᵀ), and y − (+0) has the bits of y, −0 included, where y + (+0) would turn −0 into +0
/// (LORA-1).
/// Source: E. Hu et al., "LoRA: low-rank adaptation of large language models" (2021).
///
///     LowRankAdapter adapter(784, 10, {.rank = 4, .alpha = 8}, random["fc"]["adapter"], cpu);
///     Variable y = adapter.add_to(linear(x, weight, bias), x);
class LowRankAdapter {
 public:
  /// A drawn by `xavier_uniform` from the stream "….down" of the scope, B zero. Errors: LORA-2 for a rank outside
  /// [1, min(in, out)] or an α that is not finite and positive.
  LowRankAdapter(std::int64_t in, std::int64_t out, const LowRankOptions& options, const Random& random, Device device);
  /// With these values. Errors: LORA-2, also for other shapes or values that are not finite.
  LowRankAdapter(std::int64_t in, std::int64_t out, double alpha, Tensor down, Tensor up);

  std::int64_t rank() const { return down.value().shape()[0]; }
  double alpha() const { return alpha_; }
  /// y [..., out] and the contribution for x [..., in].
  Variable add_to(const Variable& y, const Variable& x) const;
  /// The weight [out, in] with the contribution in it: W − ((−α/r)·B)·A.
  Tensor merged_with(const Tensor& weight) const;

  Parameter down, up;
  /// While the adapter is merged: the weight as it was before. Undefined otherwise.
  Tensor before_merge;

 private:
  double alpha_;
};

}  // namespace assay
