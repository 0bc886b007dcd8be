// Linear: an affine map of the last axis.
#pragma once

#include <optional>

#include "nn/module.hpp"
#include "numerics/random.hpp"

namespace assay {

/// y = x·Wᵀ + b with x [..., in], W [out, in], b [out], y [..., out]. Parameters "weight" and, with a bias, "bias".
///
/// Wᵀ is a view, so a forward of a matrix allocates only results. Initial values: W normal with variance 2/in
/// (`he_normal`) from the stream "….weight", b zero.
/// Errors: LAYER-1 for a zero width, or an input whose last extent is not `in`.
///
///     Linear layer(784, 10, random["fc"]);
///     Variable logits = layer.forward(images);  // [128, 784] → [128, 10]
class Linear final : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, const Random& random, bool bias = true);
  Variable forward(const Variable& x) const;

 private:
  Parameter weight_;
  std::optional<Parameter> bias_;
};

}  // namespace assay
