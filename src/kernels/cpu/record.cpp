// Whether slots all hold a 1.
#include "kernels/record.hpp"

namespace assay::kernels::ASSAY_ISA {

void all_set(View<const std::uint64_t> slots, View<std::uint64_t> verdict) {
  std::uint64_t all = 1;
  for (std::int64_t i = 0; i < slots.extent[0]; ++i) all &= slots.data[i] == 1;
  *verdict.data = all;
}

}  // namespace assay::kernels::ASSAY_ISA
