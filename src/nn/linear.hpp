// Linear: an affine map of the last axis.
#pragma once

#include <memory>
#include <optional>

#include "autograd/linear.hpp"
#include "autograd/nf4_linear.hpp"
#include "nn/low_rank_adapter.hpp"
#include "nn/module.hpp"
#include "numerics/random.hpp"

namespace assay {

/// y = x·Wᵀ + b with x [..., in], W [out, in], b [out], y [..., out]. Parameters "weight" and, with a bias, "bias".
///
/// A forward is the operation `linear`, with the rectifier when the options ask for it, and allocates its result only.
/// Initial values: W normal with variance 2/in (`he_normal`) from the stream "….weight", b zero.
///
/// W may be held as codes of 4 bits instead (`quantise` of models/quantised.hpp): the parameter "weight" is then
/// deactivated, and the forward is `nf4_linear`. An adapter (`attach_adapters` of models/adapter.hpp) adds to y, before
/// the rectifier. Both move with the tree; neither is in `parameters()`.
/// Errors: LAYER-1 for a zero width, or an input whose last extent is not `in`.
///
///     Linear layer(784, 10, random["fc"]);
///     Variable logits = layer.forward(images);  // [128, 784] → [128, 10]
class Linear final : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, const Random& random, bool bias = true);
  Variable forward(const Variable& x, LinearOptions options = {}) const;

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }
  /// Where the weight is.
  Device device() const { return packed_ ? packed_->codes.device() : weight_.value().device(); }
  /// Errors: NF4-4 while the weight is packed.
  Parameter& weight();

  /// The codes of the weight; none while it is dense.
  const std::optional<Nf4>& packed() const { return packed_; }
  /// Puts codes in the weight's place, and gives the dense parameter away. Errors: REG-13 when somebody else holds it
  /// or it is frozen; NF4-4 for codes of another shape or on another device, or a weight that is packed already or has
  /// a merged adapter.
  Parameter pack_weight(Nf4 packed);
  /// The way back, to its name and place. Errors: NF4-4 for another shape or device, or when nothing is packed.
  void unpack_weight(Parameter dense);

  /// Null without one.
  LowRankAdapter* adapter() const { return adapter_.get(); }
  /// Errors: LORA-3 when there is one already.
  void attach(std::unique_ptr<LowRankAdapter> adapter);

 private:
  ParameterList extra_parameters_for_transfer() const override;
  void stage_transfer(Transfer& transfer) override;
  void require_fitting(const char* operation, const Shape& shape, Device device) const;

  std::int64_t in_, out_;
  Parameter weight_;
  std::optional<Parameter> bias_;
  std::optional<Nf4> packed_;
  std::unique_ptr<LowRankAdapter> adapter_;
};

}  // namespace assay
