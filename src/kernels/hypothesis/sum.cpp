// Sums over axes under a hypothesis: one after the other.
#include "kernels/sum.hpp"

#include "kernels/walk.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

void sum(View<const float> x, int kept, bool lanes, View<float> y) {
  const Walk<1> outputs = walk_of(0, kept, x), along = walk_of(kept, x.rank, x);
  const auto length = static_cast<std::size_t>(along.size);
  for (std::int64_t i = 0; i < outputs.size; ++i) {
    std::int64_t first;
    outputs.locate(i, &first);
    const auto element = [&](std::size_t k) {
      std::int64_t offset;
      along.locate(static_cast<std::int64_t>(k), &offset);
      return x.data[first + offset];
    };
    y.data[i] = lanes ? numerics::lane_sum(length, element) : numerics::chain_sum(0, length, element);
  }
}

}  // namespace assay::kernels::ASSAY_ISA
