// Sums over axes in lane or chain order.
#include "kernels/sum.hpp"

#include "kernels/cuda/chains.cuh"
#include "kernels/cuda/lanes.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

/// A lane for each block of 512 of each output: parts[block][output].
__global__ void blocks_in_chain_order(Walk<1> outputs, Walk<1> along, const float* x, float* parts) {
  const std::int64_t output = element() % outputs.size, block = element() / outputs.size, begin = block * chain_block;
  if (begin >= along.size && block > 0) return;
  const std::int64_t end = begin + chain_block < along.size ? begin + chain_block : along.size;
  std::int64_t first;
  outputs.locate(output, &first);
  float sum = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    std::int64_t offset;
    along.locate(k, &offset);
    sum = sum + x[first + offset];
  }
  parts[element()] = sum;
}

}  // namespace

void sum(View<const float> x, int kept, bool lanes, View<float> y) {
  const Walk<1> outputs = walk_of(0, kept, x), along = walk_of(kept, x.rank, x);
  if (lanes)
    lane_order("sum", Plus(), outputs, along, y.data, x.data);
  else
    chain_order("sum", outputs.size, along.size, y.data, [&](const Grid& grid, float* parts) {
      launch<blocks_in_chain_order>("sum", grid, outputs, along, x.data, parts);
    });
}

}  // namespace assay::kernels::ASSAY_ISA
