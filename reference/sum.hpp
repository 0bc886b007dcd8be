// Sums of the oracle.
#pragma once

#include "reference/array.hpp"

namespace assay::reference {

/// Sums over the marked axes; the result keeps the others, in order.
inline Array sum(const Array& x, const std::vector<bool>& summed) {
  std::vector<std::int64_t> kept;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
    if (!summed[axis]) kept.push_back(x.shape[axis]);
  Array result = zeros(kept);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t rest = i, index = 0, stride = 1;
    for (std::size_t axis = x.shape.size(); axis-- > 0; rest /= x.shape[axis]) {
      if (summed[axis]) continue;
      index += rest % x.shape[axis] * stride;
      stride *= x.shape[axis];
    }
    result[index] += x[i];
  }
  return result;
}

}  // namespace assay::reference
