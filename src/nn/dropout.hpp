// Dropout: random selection of elements while training.
#pragma once

#include <memory>

#include "nn/module.hpp"
#include "numerics/random.hpp"

namespace assay {

/// y = x·1/(1−p) where a uniform draw is at least p, else +0; the scale is rounded once to binary32, so E[y] = x.
/// Under an EvalScope, and with p = 0, y is x and nothing is drawn (MODE-2, MODE-3).
///
/// The mask is drawn on the host from the scope's stream: one draw a forward, an element's number counted in the whole
/// batch (see ShardScope), so it is the same on every device and for every cut into shards.
/// Errors: MODE-3 for p outside [0, 1).
/// Source: N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting" (2014).
///
///     Dropout drop(0.2, random["dropout1"]);
///     Variable y = drop.forward(x);  // [B, F]
class Dropout final : public Module {
 public:
  Dropout(double p, const Random& random);
  Variable forward(const Variable& x) const;
  /// The next mask, uint8 of that shape, whose first axis is that of the batch; undefined where nothing is drawn.
  Tensor mask(const Shape& shape, Device device) const;
  double p() const { return p_; }
  /// The name under which the mask's digest is recorded.
  const std::string& stream_name() const { return stream_->name(); }

 private:
  double p_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace assay
