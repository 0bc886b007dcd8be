// Whether slots all hold a 1.
#include "kernels/record.hpp"

#include "kernels/cuda/count.cuh"

namespace assay::kernels::ASSAY_ISA {

void all_set(View<const std::uint64_t> slots, View<std::uint64_t> verdict) {
  auto is_not_set = [] __device__(std::int64_t, std::uint64_t bits) -> std::uint64_t { return bits != 1; };
  count("all_set", is_not_set, IsNone(), verdict, slots);
}

}  // namespace assay::kernels::ASSAY_ISA
