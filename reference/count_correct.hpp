// Right answers, counted by the oracle.
#pragma once

#include "reference/array.hpp"
#include "reference/maximum.hpp"

namespace assay::reference {

/// Rows whose first largest logit stands at the label.
inline std::int64_t count_correct(const Array& logits, const Array& labels) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < labels.size(); ++row) {
    std::int64_t best = argmax(logits, row * row_length(logits), row_length(logits));
    if (static_cast<double>(best) == labels[row]) ++count;
  }
  return count;
}

}  // namespace assay::reference
