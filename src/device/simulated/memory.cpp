// One anonymous file, mapped twice: without access where device pointers lie, and for the host.
#include "device/simulated/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay::simulated_memory {
namespace {

constexpr std::size_t capacity = std::size_t{16} << 30;  // addresses; the system provides memory when it is touched

class Range {
 public:
  Range() {
    int file = memfd_create("assay-simulated-device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(capacity)) != 0)
      throw Error("XFER-8", "starting the simulated device", "an anonymous file of 16 GiB", "none");
    void* device = mmap(nullptr, capacity, sabotaged("host_reads_device_memory") ? PROT_READ : PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* host = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (device == MAP_FAILED || host == MAP_FAILED)
      throw Error("XFER-8", "starting the simulated device", "two ranges of 16 GiB of addresses", "fewer");
    device_ = static_cast<std::byte*>(device);
    distance_ = static_cast<std::byte*>(host) - device_;
  }

  std::byte* reserve(std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (bytes > capacity - used_) return nullptr;
    return device_ + std::exchange(used_, used_ + bytes);
  }

  std::ptrdiff_t distance() const { return distance_; }

 private:
  std::mutex mutex_;
  std::byte* device_;
  std::ptrdiff_t distance_;
  std::size_t used_ = 0;
};

// Never destroyed: a tensor with static storage may outlive main.
Range& range() {
  static Range* instance = new Range;
  return *instance;
}

}  // namespace

std::byte* reserve(std::size_t bytes) { return range().reserve(bytes); }
std::ptrdiff_t host_distance() { return range().distance(); }

}  // namespace assay::simulated_memory
