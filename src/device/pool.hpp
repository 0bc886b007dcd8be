// Pool: where buffers come from, and the generation that tells whether they are still there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/device.hpp"

namespace assay {

class Pool;

/// Memory of one buffer. It knows its pool and the generation that the pool had, and returns its memory when the last
/// holder lets go, unless the pool took it back before.
struct Block {
  Block(Pool& pool, std::size_t bytes);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Moves the memory to another pool of the same device, without a copy. Errors as `require_live`.
  void move_to(Pool& other);
  /// Errors: RES-2 naming pool, own and current generation; RES-8 in a pass pool, naming the pass.
  void require_live() const;

  std::byte* memory;
  std::size_t bytes;
  Pool* pool;
  std::uint64_t generation;
  std::shared_ptr<const std::string> pass;     // name of the pass, in a pass pool
  Block *previous = nullptr, *next = nullptr;  // of the pool's live blocks
};

/// Memory of a device under one generation. A device has a persistent pool and, for each thread, a pass pool; their
/// generations have nothing to do with each other (RES-3).
///
/// Freed memory is poisoned on `simulated` and reused at once, last freed first, so a stale address is soon valid
/// again: only the generation tells (RES-2).
class Pool {
 public:
  Pool(Device device, std::string name) : device_(device), name_(std::move(name)) {}

  Device device() const { return device_; }
  const std::string& name() const { return name_; }
  std::uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  /// Takes all memory back: every buffer of this pool is refused from now on. `pass` names what begins now.
  void next_generation(std::shared_ptr<const std::string> pass = {});

 private:
  friend struct Block;
  void link(Block& block);
  void unlink(Block& block);

  Device device_;
  std::string name_;
  std::atomic<std::uint64_t> generation_{1};
  std::shared_ptr<const std::string> pass_;
  Block* live_ = nullptr;
};

/// The pool of values that live as long as somebody holds them.
Pool& persistent_pool(Device device);

/// What this thread allocates from now: its pass pool inside a PassScope, else the persistent pool.
Pool& current_pool(Device device);

}  // namespace assay
