// The number of a tensor of one element.
#include "kernels/item.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace assay::kernels::ASSAY_ISA {

void item(View<const float> x, View<std::uint64_t> slot) {
  map(
      "item", [] __device__(float value) { return std::bit_cast<std::uint64_t>(static_cast<double>(value)); }, slot,
      View<const float>{x.data});
}

}  // namespace assay::kernels::ASSAY_ISA
