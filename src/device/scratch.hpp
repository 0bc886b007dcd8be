// Scratch: memory of a device for the kernels of one call.
#pragma once

#include <cstddef>

#include "device/buffer.hpp"

namespace assay {

/// A DeviceBuffer, or nothing for no bytes, of which nothing is defined in a header. Kernels are built for several
/// instruction sets, and of what several units define alike the linker keeps one copy for all processors: it must not
/// be one with AVX-512. Errors: those of DeviceBuffer.
class Scratch {
 public:
  Scratch(Device device, std::size_t bytes, Site site = Site::here());
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() const;

 private:
  DeviceBuffer buffer_;
};

}  // namespace assay
