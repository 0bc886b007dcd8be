// Linear: an affine map of the last axis.
#pragma once

#include <optional>

#include "autograd/linear.hpp"
#include "nn/module.hpp"
#include "numerics/random.hpp"

namespace assay {

/// y = x·Wᵀ + b with x [..., in], W [out, in], b [out], y [..., out]. Parameters "weight" and, with a bias, "bias".
///
/// A forward is the operation `linear`, with the rectifier when the options ask for it, and allocates its result only.
/// Initial values: W normal with variance 2/in (`he_normal`) from the stream "….weight", b zero.
/// Errors: LAYER-1 for a zero width, or an input whose last extent is not `in`.
///
///     Linear layer(784, 10, random["fc"]);
///     Variable logits = layer.forward(images);  // [128, 784] → [128, 10]
class Linear final : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, const Random& random, bool bias = true);
  Variable forward(const Variable& x, LinearOptions options = {}) const;

 private:
  Parameter weight_;
  std::optional<Parameter> bias_;
};

}  // namespace assay
