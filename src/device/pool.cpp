// Pools over one cache of free memory per device.
#include "device/pool.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/counters.hpp"
#include "device/cuda/runtime.hpp"
#include "device/simulated/memory.hpp"

namespace assay {
namespace {

/// Free memory of a device by size, and the lock of all its pools.
struct Memory {
  std::mutex mutex;
  std::map<std::size_t, std::vector<std::byte*>> free;
};

// Never destroyed: a tensor with static storage may give its memory back after main has returned.
Memory& memory_of(Device device) {
  static Memory* all = new Memory[device_kinds];
  return all[static_cast<int>(device.kind)];
}

std::size_t granule(Device device) { return device == simulated || device == cuda_device ? 256 : 64; }

std::byte* request(Device device, std::size_t bytes) {
  if constexpr (have_cuda)
    if (device == cuda_device) return cuda::allocate(bytes);
  if (device == simulated) return simulated_memory::reserve(bytes);
  return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}, std::nothrow));
}

// Gives cached memory of all sizes back to the driver; what blocks hold stays. `free[bytes]` keeps its room.
void release_free_memory([[maybe_unused]] Memory& all) {
  if constexpr (have_cuda)
    for (auto& [bytes, free] : all.free)
      while (!free.empty()) {
        std::byte* memory = free.back();
        free.pop_back();
        cuda::release(memory);
      }
}

std::string left_on([[maybe_unused]] Device device) {
  if constexpr (have_cuda)
    if (device == cuda_device) return cuda::free_memory() + " free";
  return "none left";
}

// A signalling NaN in fresh memory and another pattern in freed memory: neither ever looks like the right answer.
constexpr std::uint32_t fresh_poison = 0x7fa00000, freed_poison = 0x7fbadbad;

void poison([[maybe_unused]] Device device, [[maybe_unused]] std::byte* memory, [[maybe_unused]] std::size_t bytes,
            [[maybe_unused]] std::uint32_t pattern) {
#ifndef ASSAY_POISON
  if (device != simulated) return;
#endif
  if (device == cuda_device) return;
  std::byte* host = device == simulated ? simulated_memory::on_host(memory) : memory;
  for (std::size_t i = 0; i < bytes; i += sizeof pattern) std::memcpy(host + i, &pattern, sizeof pattern);
}

// Gives memory back to the cache; `free[bytes]` has room for it since it was taken.
void free_memory(Device device, std::byte* memory, std::size_t bytes) noexcept {
  poison(device, memory, bytes, freed_poison);
  memory_of(device).free[bytes].push_back(memory);
  device_log::held(device, -static_cast<std::int64_t>(bytes));
}

}  // namespace

Block::Block(Pool& from, std::size_t size) : pool(&from), generation(0) {
  const Device device = from.device();
  Memory& all = memory_of(device);
  std::size_t step = granule(device);
  bytes = (size + step - 1) / step * step;
  std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<std::byte*>& free = all.free[bytes];
  if (!free.empty()) {
    memory = free.back();
    free.pop_back();
  } else {
    memory = request(device, bytes);
    if (!memory && device == cuda_device) {
      release_free_memory(all);
      memory = request(device, bytes);
    }
    if (!memory)
      throw Error("RES-6", "allocation on " + to_string(device), std::to_string(bytes) + " bytes of memory",
                  left_on(device));
    device_log::requested(device);
    free.reserve(free.capacity() + 1);  // so that giving it back cannot fail
  }
  device_log::held(device, static_cast<std::int64_t>(bytes));
  poison(device, memory, bytes, fresh_poison);
  pool->link(*this);
}

Block::~Block() {
  std::lock_guard<std::mutex> lock(memory_of(pool->device()).mutex);
  if (generation != pool->generation()) return;  // the pool took it back already
  pool->unlink(*this);
  if (!sabotaged("freed_memory_is_lost")) free_memory(pool->device(), memory, bytes);
}

void Block::move_to(Pool& other) {
  require_live();
  std::lock_guard<std::mutex> lock(memory_of(pool->device()).mutex);
  pool->unlink(*this);
  other.link(*this);
}

void Block::require_live() const {
  const Pool& judge = sabotaged("liveness_by_the_wrong_pool") ? persistent_pool(pool->device()) : *pool;
  if (generation == judge.generation() || sabotaged("generations_ignored")) return;
  throw Error(pass ? "RES-8" : "RES-2", pass ? "use of a tensor made in " + *pass : "use of a buffer",
              "generation " + std::to_string(pool->generation()) + " of the " + pool->name(),
              "generation " + std::to_string(generation) + ", whose memory was taken back" +
                  (pass ? "; keep() moves a tensor out of its pass" : ""));
}

void Pool::link(Block& block) {
  block.pool = this;
  block.generation = generation();
  block.pass = pass_;
  block.previous = nullptr;
  block.next = live_;
  if (live_) live_->previous = &block;
  live_ = &block;
}

void Pool::unlink(Block& block) {
  (block.previous ? block.previous->next : live_) = block.next;
  if (block.next) block.next->previous = block.previous;
}

void Pool::next_generation(std::shared_ptr<const std::string> pass) {
  std::lock_guard<std::mutex> lock(memory_of(device_).mutex);
  for (Block* block = live_; block; block = block->next) free_memory(device_, block->memory, block->bytes);
  live_ = nullptr;
  generation_.fetch_add(1, std::memory_order_relaxed);
  pass_ = std::move(pass);
}

Pool& persistent_pool(Device device) {
  static Pool* all[device_kinds] = {
      new Pool(cpu, "persistent pool of cpu"), new Pool(reference_device, "persistent pool of reference"),
      new Pool(simulated, "persistent pool of simulated"), new Pool(cuda_device, "persistent pool of cuda")};
  return *all[static_cast<int>(device.kind)];
}

}  // namespace assay
