// The norm of all gradients together, and clipping by it.
#pragma once

#include "autograd/parameter.hpp"

namespace assay {

/// √Σ g² over the pending gradients of a list, in binary64: within a tensor in lane order (N3), then the tensors' sums
/// ascending in list order. An empty list, or one without pending gradients, has norm 0.
/// Errors: OPT-1 as `require_valid` and for gradients on several devices; OPT-6 naming the first parameter with a NaN
/// or an infinity in its gradient.
///
///     double norm = global_gradient_norm(model.parameters());
double global_gradient_norm(const ParameterList& list);

/// When the norm is strictly above `max_norm`, replaces each pending gradient g by g·r, with r = max_norm ÷ norm
/// computed in binary64 and rounded once to binary32; else leaves all as they are. Returns the norm from before.
/// After gradients were accumulated it clips their total (OPT-6).
/// Errors: as above, and OPT-6 unless `max_norm` is finite and above 0; on any error nothing has changed.
/// Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks" (2013).
///
///     double norm = clip_gradients(model.parameters(), 1.0);
double clip_gradients(const ParameterList& list, double max_norm);

/// The same for a caller who reads the norm later, together with other numbers of the device: nothing is downloaded
/// before `value`. `slots` are those of a kernels::Record on the gradients' device, at least one for each parameter.
///
///     GradientNorm norm(parameters, record.slots(0, count));
///     norm.clip(1.0);
///     norm.value();  // from before clipping
class GradientNorm {
 public:
  /// Launches the sums of squares. Errors: OPT-1.
  GradientNorm(const ParameterList& list, const Tensor& slots);
  /// Puts g·r in place of each pending gradient, where r is 1 unless the norm is finite and strictly above `max_norm`.
  /// Errors: OPT-6 unless `max_norm` is finite and above 0.
  void clip(double max_norm);
  /// The norm. Errors: OPT-6 naming the first gradient that is not finite.
  double value() const;

 private:
  ParameterList pending_;
  std::vector<Tensor> gradients_;
  Tensor slots_;
};

}  // namespace assay
