// Mlp: fully connected layers with one activation between them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/activation.hpp"
#include "nn/dropout.hpp"

namespace assay {

/// A multilayer perceptron: y = fcN(… act(fc1(x))), dropout behind every activation. Widths [in, hidden…, out] make
/// children "fc1", "fc2", … and, with p > 0, "dropout1", …; x [B, in] → [B, out], no activation at the end.
/// Errors: LAYER-1 for fewer than two widths or a zero width, MODE-3 for p.
///
///     Mlp model({784, 128, 10}, Activation::relu, 0, Random(7));
///     Variable logits = model.forward(images);
class Mlp final : public Module {
 public:
  Mlp(const std::vector<std::int64_t>& widths, Activation activation, double p, const Random& random);
  Variable forward(const Variable& x) const;
  /// The streams of the dropout masks, in the order of the layers.
  std::vector<std::string> mask_names() const;

 private:
  Activation activation_;
  std::vector<std::shared_ptr<Linear>> layers_;
  std::vector<std::shared_ptr<Dropout>> dropouts_;
};

}  // namespace assay
