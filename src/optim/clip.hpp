// The norm of all gradients together, and clipping by it.
#pragma once

#include "autograd/parameter.hpp"

namespace assay {

/// √Σ g² over the pending gradients of a list, in binary64: within a tensor in lane order (N3), then the tensors' sums
/// ascending in list order. An empty list, or one without pending gradients, has norm 0.
/// Errors: OPT-1 as `require_valid`; OPT-6 naming the first parameter with a NaN or an infinity in its gradient.
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

}  // namespace assay
