// Copies between the host and the memory of a device.
#include "device/buffer.hpp"

#include <algorithm>
#include <cstring>

#include "device/counters.hpp"
#include "device/cuda/runtime.hpp"
#include "device/simulated/memory.hpp"

namespace assay {
namespace {

std::byte* reachable(Device device, std::byte* memory) {
  return device == simulated ? simulated_memory::on_host(memory) : memory;
}

}  // namespace

DeviceBuffer::DeviceBuffer(Device device, std::size_t bytes, Site site) : device_(device), bytes_(bytes) {
  require_usable(device);
  device_log::allocation(device, bytes, site);
  if (bytes > 0) block_ = std::make_shared<Block>(current_pool(device), bytes);
}

void DeviceBuffer::keep() {
  if (block_) block_->move_to(persistent_pool(device_));
}

void DeviceBuffer::upload(std::size_t offset, const void* from, std::size_t bytes, Site site) {
  std::byte* to = data();
  device_log::upload(device_, bytes, site);
  if (bytes == 0) return;
  if constexpr (have_cuda)
    if (device_ == cuda_device) return cuda::upload(to + offset, from, bytes);
  std::memcpy(reachable(device_, to) + offset, from, bytes);
}

void DeviceBuffer::download(std::size_t offset, void* to, std::size_t bytes, Site site) const {
  std::byte* from = data();
  device_log::download(device_, bytes, site);
  if (bytes == 0) return;
  if constexpr (have_cuda)
    if (device_ == cuda_device) return cuda::download(to, from + offset, bytes);
  std::memcpy(to, reachable(device_, from) + offset, bytes);
}

void DeviceBuffer::fill(const void* value, std::size_t width, std::size_t count) {
  std::byte* to = data();
  device_log::launch(device_, "fill");
  if constexpr (have_cuda)
    if (device_ == cuda_device) return cuda::fill(to, value, width, count);
  auto fill_with = [&](auto element) {
    std::memcpy(&element, value, sizeof element);
    std::fill_n(reinterpret_cast<decltype(element)*>(reachable(device_, to)), count, element);
  };
  if (count == 0) return;
  if (width == 8)
    fill_with(std::uint64_t{});
  else if (width == 4)
    fill_with(std::uint32_t{});
  else
    fill_with(std::uint8_t{});
}

}  // namespace assay
