// Right answers, counted row by row.
#include "kernels/count_correct.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

std::int64_t count_correct(View<const float> logits, View<const std::int32_t> labels) {
  std::int64_t classes = logits.extent[1], count = 0;
  for (std::int64_t row = 0; row < logits.extent[0]; ++row)
    if (row_argmax(logits.data + row * classes, classes) == labels.data[row * labels.stride[0]]) ++count;
  return count;
}

}  // namespace assay::kernels::ASSAY_ISA
