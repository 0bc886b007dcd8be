// LayerNorm: normalisation of the last axis.
#pragma once

#include "autograd/layer_norm.hpp"
#include "nn/module.hpp"

namespace assay {

/// y = (x − mean)/√(variance + 10⁻⁵)·scale + bias over the last axis, x and y [..., D], the variance that of the whole
/// row, Σ(x − mean)² ÷ D. Parameters "scale" and "bias", [D].
///
/// A forward is the operation `layer_norm`, which states the formula. Initial values: scale 1, bias 0.
/// Errors: LAYER-3 for D below 1, or an input whose last extent is not D.
///
///     LayerNorm norm(64);
///     Variable y = norm.forward(x);  // [B, T, 64]
class LayerNorm final : public Module {
 public:
  explicit LayerNorm(std::int64_t width);
  Variable forward(const Variable& x) const;

 private:
  Parameter scale_, bias_;
};

}  // namespace assay
