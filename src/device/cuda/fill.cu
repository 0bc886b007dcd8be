// What the memory of a GPU needs of nvcc: filling it, and for which architectures that was compiled.
#include <cstdint>
#include <cstring>

#include "device/cuda/architectures.hpp"
#include "device/cuda/runtime.hpp"

namespace assay::cuda {
namespace {

constexpr int built[] = {__CUDA_ARCH_LIST__};

template <class T>
__global__ void fill_with(T* to, T value, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = value;
}

template <class T>
void launch_fill(std::byte* to, const void* value, std::size_t count) {
  T element;
  std::memcpy(&element, value, sizeof element);
  fill_with<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream()>>>(reinterpret_cast<T*>(to), element, count);
  check_launch("fill");
}

}  // namespace

std::span<const int> architectures() { return built; }

void fill(std::byte* to, const void* value, std::size_t width, std::size_t count) {
  if (count == 0) return;
  if (width == 8)
    launch_fill<std::uint64_t>(to, value, count);
  else if (width == 4)
    launch_fill<std::uint32_t>(to, value, count);
  else
    launch_fill<std::uint8_t>(to, value, count);
}

}  // namespace assay::cuda
