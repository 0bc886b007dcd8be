// Dropout under a given mask, and its gradient.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/dropout.hpp"

namespace assay {

/// x·binary32(1 ÷ (1 − p)) where the mask (uint8, x's shape) is not 0, else +0: it selects, so a NaN behind a 0 is
/// gone. Gradient: the same selection of the upstream gradient. The mask is drawn elsewhere (N6). Errors: MODE-3 for p
/// outside [0, 1), ACC-4 for a mask of another shape or type, GRAPH-13.
///
///     dropout(x, mask, 0.2);
inline Variable dropout(const Variable& x, const Tensor& mask, double p) {
  return custom_gradient("dropout", kernels::dropout(x.value(), mask, p), {x, mask},
                         [mask, p](const Tensor& upstream, const std::vector<bool>&) {
                           return std::vector{kernels::dropout(upstream, mask, p), Tensor()};
                         });
}

}  // namespace assay
