// FeedForward: two linear layers with an activation between them.
#pragma once

#include "nn/activation.hpp"

namespace assay {

/// y = project(activation(expand(x))) with x and y [..., D] and F values between. Children "expand", D → F, and
/// "project", F → D, both with a bias and the initial values of `Linear`.
///
/// Errors: LAYER-1 for a zero width, or an input whose last extent is not D.
///
///     FeedForward layer(64, 256, Activation::gelu, random["feed_forward"]);
///     Variable y = layer.forward(x);  // [B, T, 64]
class FeedForward final : public Module {
 public:
  FeedForward(std::int64_t width, std::int64_t hidden, Activation activation, const Random& random);
  Variable forward(const Variable& x) const;

 private:
  Linear expand_, project_;
  Activation activation_;
};

}  // namespace assay
