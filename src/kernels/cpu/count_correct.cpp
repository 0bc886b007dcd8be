// Right answers, counted row by row.
#include "kernels/count_correct.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void count_correct(View<const float> logits, View<const std::int32_t> labels, View<std::uint64_t> slot) {
  std::int64_t classes = logits.extent[1];
  std::uint64_t count = 0;
  parallel_for(logits.extent[0], elements_per_task / classes + 1, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t right = 0;
    for (std::int64_t row = begin; row < end; ++row)
      right += row_argmax(logits.data + row * classes, classes) == labels.data[row * labels.stride[0]];
    __atomic_fetch_add(&count, right, __ATOMIC_RELAXED);
  });
  *slot.data = count;
}

}  // namespace assay::kernels::ASSAY_ISA
