// Activation checkpointing: a segment that is computed twice and remembers nothing in between.
#pragma once

#include <functional>
#include <vector>

#include "autograd/variable.hpp"

namespace assay {

/// A computation on its dependencies. Whatever else it uses must outlive the backward pass and require no gradient.
using Segment = std::function<Variable(const std::vector<Variable>& dependencies)>;

/// The segment's result, without what its operations would save for their gradients: the backward pass computes the
/// segment once more, with the mode, the random draws and the place in the batch that it had (CKPT-1, CKPT-6), and adds
/// each contribution in the order of the plain graph. So gradients, values and later draws have the bits of
/// `segment(dependencies)`, and only memory and time differ. Segments may stand in segments.
///
/// Dependencies are all variables that require a gradient and that the segment uses, parameters too, each once.
/// Errors, which change nothing, streams included: CKPT-2 for a dependency that is undefined or named twice, and for
/// another variable that requires a gradient, or a new leaf, in the segment. In the backward pass CKPT-3 when a
/// dependency or other data that the segment used changed, CKPT-4 when the second computation gives another shape, type
/// or device or uses other dependencies, CKPT-6 when it draws otherwise.
///
/// Source: T. Chen et al., "Training deep nets with sublinear memory cost" (2016).
///
///     Variable y = checkpoint([&](const auto& in) { return gelu(linear(in[0], in[1])); }, {x, weight});
Variable checkpoint(Segment segment, const std::vector<Variable>& dependencies);

}  // namespace assay
