// The number of a tensor of one element.
#include "kernels/item.hpp"

namespace assay::kernels::ASSAY_ISA {

void item(View<const float> x, View<std::uint64_t> slot) {
  *slot.data = std::bit_cast<std::uint64_t>(static_cast<double>(*x.data));
}

}  // namespace assay::kernels::ASSAY_ISA
