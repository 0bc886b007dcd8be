// Cross entropy of logits and its gradient.
#pragma once

#include <algorithm>
#include <optional>

#include "autograd/variable.hpp"
#include "base/sabotage.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/defects.hpp"
#include "kernels/divide.hpp"
#include "kernels/sum.hpp"

namespace assay {

struct CrossEntropyOptions {
  double label_smoothing = 0;              ///< ε in [0, 1)
  std::int32_t ignore_index = -100;        ///< rows with this label score nothing
  std::optional<std::int64_t> count = {};  ///< divides the total; by default the number of scored rows
};

/// How many of the labels are scored: the `count` that the shards of one batch have in common.
inline std::int64_t scored_rows(const Tensor& labels, const CrossEntropyOptions& options = {}) {
  auto values = labels.read<std::int32_t>();
  return values.size() - std::count(values.begin(), values.end(), options.ignore_index);
}

/// Mean loss, a scalar, of logits [B, C] against labels [B], int32. With ℓ the log-softmax of a row (N5), t its label,
/// ε the smoothing, k = binary32(1 − ε) and u = binary32(ε ÷ C):
/// - row loss: k·(−ℓ_t), and if ε > 0 then + u·(−lane(ℓ)); an ignored row is +0. So q = (1 − ε)·onehot(t) + ε/C.
/// - loss: the row losses in lane order ÷ binary32(count). A shard gives the count of the whole batch.
/// - gradient by the logits: (p − q)·(g ÷ binary32(count)) with p the softmax (N5), q = k + u at t and u elsewhere,
///   g the upstream gradient; an ignored row is +0.
/// With a count of 0 nothing is scored: loss +0, gradients +0.
///
/// Errors, before anything is computed: LAYER-3 for other shapes, a label out of range (names its row), ε outside
/// [0, 1), or a count below the scored rows; ACC-4 for labels of another type; GRAPH-13.
///
/// Source: C. Szegedy et al., "Rethinking the Inception architecture for computer vision" (2016), section 7.
///
///     cross_entropy(logits, Tensor::from<std::int32_t>({3, 0}, {2}), {.label_smoothing = 0.1});
inline Variable cross_entropy(const Variable& logits, const Tensor& labels, const CrossEntropyOptions& options = {}) {
  double smoothing = options.label_smoothing;
  std::int32_t ignored = options.ignore_index;
  if (!(smoothing >= 0 && smoothing < 1))
    throw Error("LAYER-3", "cross_entropy", "label smoothing in [0, 1)", std::to_string(smoothing));
  kernels::require_labels("cross_entropy", logits.value(), labels, ignored);
  std::int64_t scored = sabotaged("ignored_rows_count") ? labels.size() : scored_rows(labels, options);
  if (options.count.value_or(scored) < scored)
    throw Error("LAYER-3", "cross_entropy", "a count of at least the " + std::to_string(scored) + " scored rows",
                std::to_string(*options.count));
  // Where the count is 0 every row is ignored, and +0 ÷ 1 is +0.
  std::int64_t divisor = std::max<std::int64_t>(1, options.count.value_or(scored));
  Tensor count = Tensor::full({}, static_cast<double>(divisor), logits.device());
  Tensor total = kernels::sum(kernels::cross_entropy(logits.value(), labels, smoothing, ignored));
  return custom_gradient(
      "cross_entropy", kernels::divide(total, count), {logits, labels},
      [x = logits.value(), labels, smoothing, ignored, count](const Tensor& upstream, const std::vector<bool>&) {
        Tensor scale = kernels::divide(upstream, count);
        const Tensor& of_rows =
            sabotaged("gradient_takes_the_next_label") ? kernels::defects::labels_of_next_rows(labels) : labels;
        return std::vector{kernels::cross_entropy_gradient(x, of_rows, smoothing, ignored, scale), Tensor()};
      });
}

}  // namespace assay
