// Right answers, counted.
#pragma once

#include "kernels/copy.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/record.hpp"
#include "reference/count_correct.hpp"

namespace assay::kernels {

/// Logits are contiguous.
ASSAY_DECLARE_KERNEL(void count_correct(View<const float> logits, View<const std::int32_t> labels,
                                        View<std::uint64_t> slot))

/// The rows of logits [B, C] whose maximum stands at the label, labels [B], int32. Of equal maxima the lowest index
/// counts, a NaN is a maximum, and +0 is above −0 (N1). Errors: LAYER-3 for other shapes or a label that is neither in
/// [0, C) nor `ignored` (such a row is never right); ACC-4 for labels of another type; GRAPH-13.
///
///     count_correct(logits, labels);  // of B
inline std::int64_t count_correct(const Tensor& logits, const Tensor& labels, std::int32_t ignored = -100) {
  require_labels("count_correct", logits, labels, ignored);
  Record record(logits.device(), 1);
  run_into(record.slot(0), ASSAY_KERNEL(count_correct), reference::count_correct, contiguous(logits), Labels{labels});
  return static_cast<std::int64_t>(record.bits(0));
}

}  // namespace assay::kernels
