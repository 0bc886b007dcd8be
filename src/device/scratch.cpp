// Scratch, out of the reach of the kernels' instruction sets.
#include "device/scratch.hpp"

namespace assay {

Scratch::Scratch(Device device, std::size_t bytes, Site site) {
  if (bytes > 0) buffer_ = DeviceBuffer(device, bytes, site);
}
Scratch::~Scratch() = default;
std::byte* Scratch::data() const { return buffer_.data(); }

}  // namespace assay
