// Chain order (N2) in two steps: a lane for each block of 512, then the blocks' sums.
#pragma once

#include "device/scratch.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

inline constexpr auto chain_block = static_cast<std::int64_t>(numerics::chain_block);

/// The blocks' sums, ascending.
template <class T>
__global__ void sums_of_blocks(std::int64_t outputs, std::int64_t blocks, const T* parts, T* y) {
  if (element() >= outputs) return;
  T sum = parts[element()];
  for (std::int64_t block = 1; block < blocks; ++block) sum = sum + parts[block * outputs + element()];
  y[element()] = sum;
}

/// y = `outputs` sums of `length` terms each. launch_blocks(grid, parts) launches a lane for each block of each output,
/// which writes parts[block][output]; block 0 is there also when nothing is to be added.
template <class LaunchBlocks>
void chain_order(const char* name, std::int64_t outputs, std::int64_t length, float* y, LaunchBlocks launch_blocks) {
  const std::int64_t blocks = length <= chain_block ? 1 : (length - 1) / chain_block + 1;
  const Grid grid = lane_per(outputs * blocks);
  if (blocks == 1) return launch_blocks(grid, y);
  Scratch scratch(this_device, static_cast<std::size_t>(outputs * blocks) * sizeof(float));
  auto* parts = reinterpret_cast<float*>(scratch.data());
  launch_blocks(grid, parts);
  launch<sums_of_blocks<float>>(name, lane_per(outputs), outputs, blocks, static_cast<const float*>(parts), y);
}

}  // namespace assay::kernels::ASSAY_ISA
