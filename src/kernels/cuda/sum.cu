// Sums over axes in lane or chain order.
#include "kernels/sum.hpp"

#include "kernels/cuda/lanes.cuh"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr auto chain_block = static_cast<std::int64_t>(numerics::chain_block);

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

/// The blocks' sums, ascending.
__global__ void sums_of_blocks(std::int64_t outputs, std::int64_t blocks, const float* parts, float* y) {
  if (element() >= outputs) return;
  float sum = parts[element()];
  for (std::int64_t block = 1; block < blocks; ++block) sum = sum + parts[block * outputs + element()];
  y[element()] = sum;
}

void chain_order(const Walk<1>& outputs, const Walk<1>& along, const float* x, float* y) {
  const std::int64_t blocks = along.size <= chain_block ? 1 : (along.size - 1) / chain_block + 1;
  const Grid grid = lane_per(outputs.size * blocks);
  if (blocks == 1) return launch<blocks_in_chain_order>("sum", grid, outputs, along, x, y);
  Scratch scratch(this_device, static_cast<std::size_t>(outputs.size * blocks) * sizeof(float));
  auto* parts = reinterpret_cast<float*>(scratch.data());
  launch<blocks_in_chain_order>("sum", grid, outputs, along, x, parts);
  launch<sums_of_blocks>("sum", lane_per(outputs.size), outputs.size, blocks, static_cast<const float*>(parts), y);
}

}  // namespace

void sum(View<const float> x, int kept, bool lanes, View<float> y) {
  const Walk<1> outputs = walk_of(0, kept, x), along = walk_of(kept, x.rank, x);
  if (lanes)
    lane_order("sum", Plus(), outputs, along, y.data, x.data);
  else
    chain_order(outputs, along, x.data, y.data);
}

}  // namespace assay::kernels::ASSAY_ISA
