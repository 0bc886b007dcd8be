// A cache of freed blocks by size, shared by the devices whose memory is the host's.
#include "device/buffer.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace assay {
namespace {

constexpr std::align_val_t alignment{64};

class BlockCache {
 public:
  std::byte* take(std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::byte*>& blocks = free_[bytes];
    std::byte* block = nullptr;
    if (!blocks.empty()) {
      block = blocks.back();
      blocks.pop_back();
    } else {
      block = static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow));
      if (!block) throw Error("RES-8", "allocating a buffer", std::to_string(bytes) + " bytes of memory", "none left");
      ++counters_.requests;
      blocks.reserve(blocks.capacity() + 1);  // so that giving a block back cannot fail
    }
    counters_.live_bytes += bytes;
    ++counters_.allocations;
#ifdef ASSAY_POISON
    std::memset(block, 0xff, bytes);  // NaN, so that an element which nobody wrote does not hold the last right answer
#endif
    return block;
  }

  void give_back(std::byte* block, std::size_t bytes) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    free_[bytes].push_back(block);
    counters_.live_bytes -= bytes;
  }

  MemoryCounters counters() {
    std::lock_guard<std::mutex> lock(mutex_);
    return counters_;
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> free_;
  MemoryCounters counters_;
};

// Never destroyed: a tensor with static storage may give its block back after main has returned.
BlockCache& cache() {
  static BlockCache* instance = new BlockCache;
  return *instance;
}

}  // namespace

DeviceBuffer::DeviceBuffer(Device device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes == 0) return;
  std::size_t rounded = (bytes + 63) / 64 * 64;
  block_ = std::shared_ptr<std::byte>(cache().take(rounded),
                                      [rounded](std::byte* block) { cache().give_back(block, rounded); });
}

MemoryCounters memory_counters() { return cache().counters(); }

}  // namespace assay
