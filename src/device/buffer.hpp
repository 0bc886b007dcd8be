// DeviceBuffer: bytes on a device, shared by whoever holds it, and the ways in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "device/pool.hpp"
#include "device/site.hpp"

namespace assay {

/// A block of memory on a device with the generation of its pool (RES-1), given back when the last holder lets go. It
/// stands for a resident value and so has no arithmetic, ordering, subscript, stream or conversion operator (ACC-8).
///
/// Blocks are 64-byte aligned, hold anything, and are kept by the device for the next request of the same size: a
/// training step that repeats asks the operating system for nothing. On `simulated` fresh memory holds signalling NaNs.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// From the thread's current pool. Errors: RES-6 when the device has no memory left.
  DeviceBuffer(Device device, std::size_t bytes, Site site = Site::here());

  Device device() const { return device_; }
  std::size_t bytes() const { return bytes_; }
  /// The address on the device; null for no bytes. Errors: RES-2 and RES-8 for memory that was taken back.
  std::byte* data() const {
    if (!block_) return nullptr;
    block_->require_live();
    return block_->memory;
  }
  /// Moves the memory out of its pass, for all holders.
  void keep();

  /// Host to device and back. Errors: RES-6 when the copy fails.
  void upload(std::size_t offset, const void* from, std::size_t bytes, Site site);
  void download(std::size_t offset, void* to, std::size_t bytes, Site site) const;
  /// `count` copies of a value of 1, 4 or 8 bytes, written on the device. Errors: RES-6 when the launch fails.
  void fill(const void* value, std::size_t width, std::size_t count);

 private:
  Device device_;
  std::size_t bytes_ = 0;
  std::shared_ptr<Block> block_;
};

}  // namespace assay
