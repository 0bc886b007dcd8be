// One growing block a thread.
#include "device/cpu/scratch.hpp"

#include <memory>
#include <new>

namespace assay {

void* thread_scratch(std::size_t bytes) {
  constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* block) const { ::operator delete(block, alignment); }
  };
  thread_local std::unique_ptr<std::byte, Free> block;
  thread_local std::size_t size = 0;
  if (size < bytes) {
    block.reset();
    size = 0;
    block.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
    size = bytes;
  }
  return block.get();
}

}  // namespace assay
