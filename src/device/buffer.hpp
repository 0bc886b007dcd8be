// DeviceBuffer: bytes on a device, shared by whoever holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"

namespace assay {

/// A block of memory on a device, given back when the last holder lets go. It stands for a resident value and so has
/// no arithmetic, ordering, subscript, stream or conversion operator (ACC-8).
///
/// Blocks are 64-byte aligned, not initialised, and kept by the device for the next request of the same size: a
/// training step that repeats asks the operating system for nothing.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(Device device, std::size_t bytes);

  Device device() const { return device_; }
  std::size_t bytes() const { return bytes_; }
  std::byte* data() const { return block_.get(); }

 private:
  Device device_;
  std::size_t bytes_ = 0;
  std::shared_ptr<std::byte> block_;
};

/// Counts over all buffers of the process.
struct MemoryCounters {
  std::uint64_t live_bytes = 0;   ///< in buffers that somebody holds
  std::uint64_t allocations = 0;  ///< buffers made so far
  std::uint64_t requests = 0;     ///< of those, how many had to ask the operating system
};
MemoryCounters memory_counters();

}  // namespace assay
