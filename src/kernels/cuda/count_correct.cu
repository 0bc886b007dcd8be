// Right answers: a warp a row finds its maximum, then they are counted.
#include "kernels/count_correct.hpp"

#include "kernels/cuda/count.cuh"
#include "kernels/cuda/rows.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

__global__ void correct_rows(View<const float> logits, View<const std::int32_t> labels, std::uint64_t* correct) {
  if (row() >= logits.extent[0]) return;
  const std::int64_t at = row_argmax(logits.data + row() * logits.extent[1], logits.extent[1]);
  if (lane() == 0) correct[row()] = at == labels.data[row() * labels.stride[0]];
}

}  // namespace

void count_correct(View<const float> logits, View<const std::int32_t> labels, View<std::uint64_t> slot) {
  const std::int64_t rows = logits.extent[0];
  Scratch scratch(this_device, static_cast<std::size_t>(rows) * sizeof(std::uint64_t));
  auto* correct = reinterpret_cast<std::uint64_t*>(scratch.data());
  launch<correct_rows>("count_correct", warp_per(rows), logits, labels, correct);
  count("count_correct", Itself(), HowMany(), slot, View<const std::uint64_t>{correct, 1, {rows}, {1}});
}

}  // namespace assay::kernels::ASSAY_ISA
