// Lanes as fibers: a block goes on lane by lane until each has ended or waits, then opens what all have reached.
#include "device/simulated/simt.hpp"

#include <algorithm>
#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/cpu/thread_pool.hpp"

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define ASSAY_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define ASSAY_THREAD_SANITIZER
#endif

namespace assay::simt {
namespace {

namespace context = boost::context;

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr std::size_t edge_bytes = 64;
constexpr std::uint32_t poison = 0x7fa00000;  // a signalling NaN

LaneOrder lane_order = LaneOrder::ascending;
std::uint64_t lane_seed = 0;
unsigned lanes_of_scope = 0;  // 0: none

/// In which order the lanes of a block go on, each time that they do.
class Order {
 public:
  explicit Order(std::size_t lanes) : lanes_(lanes) {
    std::iota(lanes_.begin(), lanes_.end(), std::size_t{0});
    if (lane_order == LaneOrder::descending) std::reverse(lanes_.begin(), lanes_.end());
  }
  const std::vector<std::size_t>& next() {
    if (lane_order != LaneOrder::shuffled) return lanes_;
    std::uint64_t random = lane_seed * 0x9e3779b97f4a7c15u + ++rounds_;
    for (std::size_t left = lanes_.size(); left > 1; --left) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      std::swap(lanes_[left - 1], lanes_[static_cast<std::size_t>(random >> 33) % left]);
    }
    return lanes_;
  }

 private:
  std::vector<std::size_t> lanes_;
  std::uint64_t rounds_ = 0;
};

// The sanitizers are told of every switch, with the true bounds of the stack that is switched to.
#ifdef ASSAY_ADDRESS_SANITIZER
void leave_for(void** fake_stack, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
}
void arrive(void* fake_stack, const void** from_bottom, std::size_t* from_size) {
  __sanitizer_finish_switch_fiber(fake_stack, from_bottom, from_size);
}
#else
void leave_for(void**, const void*, std::size_t) {}
void arrive(void*, const void**, std::size_t*) {}
#endif
#ifdef ASSAY_THREAD_SANITIZER
void* this_fiber() { return __tsan_get_current_fiber(); }
void switch_to(void* fiber) { __tsan_switch_to_fiber(fiber, 0); }

/// Making one for the sanitizer takes milliseconds, so lanes use them again; not for ever, since each use leaves a few
/// calls behind on a list that has an end.
class SanitizerFibers {
 public:
  ~SanitizerFibers() {
    for (const Fiber& fiber : all_) __tsan_destroy_fiber(fiber.handle);
  }
  void* take() {
    for (Fiber& fiber : all_)
      if (!fiber.taken) return fiber.take();
    all_.push_back({__tsan_create_fiber(0)});
    return all_.back().take();
  }
  void give_back(void* handle) {
    for (Fiber& fiber : all_) {
      if (fiber.handle != handle) continue;
      fiber.taken = false;
      if (fiber.uses < 50) continue;
      __tsan_destroy_fiber(handle);
      fiber = {__tsan_create_fiber(0)};
    }
  }

 private:
  struct Fiber {
    void* handle;
    bool taken = false;
    int uses = 0;
    void* take() {
      taken = true;
      ++uses;
      return handle;
    }
  };
  std::vector<Fiber> all_;
};
SanitizerFibers& sanitizer_fibers() {
  thread_local SanitizerFibers all;
  return all;
}
void* new_fiber() { return sanitizer_fibers().take(); }
void destroy(void* fiber) { sanitizer_fibers().give_back(fiber); }
#else
void* this_fiber() { return nullptr; }
void* new_fiber() { return nullptr; }
void switch_to(void*) {}
void destroy(void*) {}
#endif

/// Stacks with a page below them that nobody may touch; kept for the next block of this thread.
class Stacks {
 public:
  ~Stacks() {
    for (context::stack_context& stack : free_) source_.deallocate(stack);
  }
  context::stack_context take() {
    if (free_.empty()) return source_.allocate();
    context::stack_context stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void give_back(const context::stack_context& stack) { free_.push_back(stack); }

 private:
  context::protected_fixedsize_stack source_{stack_bytes};
  std::vector<context::stack_context> free_;
};

Stacks& stacks() {
  thread_local Stacks all;
  return all;
}

/// What Boost asks for a fiber's stack.
struct TakenStack {
  context::stack_context stack;
  context::stack_context allocate() { return stack; }
  void deallocate(context::stack_context& unused) { stacks().give_back(unused); }
};

/// What a lane is told when its block has failed: it unwinds.
struct Cancelled {};

enum class State { ready, at_barrier, at_exchange, ended };

struct Lane {
  context::fiber fiber;
  context::stack_context stack;
  Dim3 thread;
  State state = State::ready;
  int line = 0;
  std::uint32_t mask = 0;
  unsigned source = 0;
  std::uint64_t bits = 0, received = 0;
  std::uint32_t predicates = 0;
  void* fake_stack = nullptr;
  void* sanitizer_fiber = nullptr;
  unsigned barriers = 0;  // of which a saboteur passes the later ones
};

void fill_with_poison(std::byte* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof poison)
    std::memcpy(memory + at, &poison, std::min(sizeof poison, bytes - at));
}

bool is_edge(const std::byte* memory) {
  static const auto edge = [] {
    std::array<std::byte, edge_bytes> bytes;
    fill_with_poison(bytes.data(), bytes.size());
    return bytes;
  }();
  return std::memcmp(memory, edge.data(), edge_bytes) == 0;
}

/// An array with an edge on both sides. The second begins where the array ends, to the byte.
struct SharedArray {
  const void* key;
  std::size_t bytes;
  std::unique_ptr<std::byte[]> memory;

  std::byte* data() const { return memory.get() + edge_bytes; }
  void poison() const {
    fill_with_poison(memory.get(), edge_bytes + bytes);
    fill_with_poison(data() + bytes, edge_bytes);
  }
  bool overrun() const { return !is_edge(memory.get()) || !is_edge(data() + bytes); }
};

std::string text_of(const Dim3& d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

class Block;
using detail::here;
using detail::Work;
thread_local const Launch* current_launch = nullptr;
thread_local Block* current_block = nullptr;  // null while lanes run as a loop

std::size_t size_of(const Dim3& d) { return std::size_t{d.x} * d.y * d.z; }

Dim3 at(std::size_t index, const Dim3& size) {
  return {static_cast<unsigned>(index % size.x), static_cast<unsigned>(index / size.x % size.y),
          static_cast<unsigned>(index / size.x / size.y)};
}

std::size_t index_of(const Dim3& d, const Dim3& size) {
  return d.x + std::size_t{size.x} * (d.y + std::size_t{size.y} * d.z);
}

[[noreturn]] void refuse(std::size_t lane, const std::string& expected, const std::string& found) {
  throw Error("RES-6",
              "kernel " + std::string(current_launch->kernel) + ", block " + text_of(here.block) + ", lane " +
                  std::to_string(lane),
              expected, found);
}

class Block {
 public:
  Block(const Launch& launch, const Work& work) : work_(work), lanes_(size_of(launch.block)), order_(lanes_.size()) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].thread = at(i, launch.block);
  }

  void run() {
    for (const SharedArray& array : arrays_) array.poison();
    for (std::size_t i = 0; i < lanes_.size(); ++i) start(i);
    while (!failure_ && !all(State::ended)) {
      for (const std::size_t i : order_.next())
        if (lanes_[i].state == State::ready && !failure_) go_on(i);
      if (!failure_ && !all(State::ended) && !open()) attempt([&] { refuse_to_wait(); });
    }
    if (failure_)  // whoever waits or begins is unwound
      for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].state != State::ended) go_on(i);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void wait(State state, int line) {
    Lane& lane = lanes_[current_];
    lane.state = state;
    lane.line = line;
    leave_for(&lane.fake_stack, outside_bottom_, outside_size_);
    switch_to(outside_fiber_);
    outside_ = std::move(outside_).resume();
    arrive(lane.fake_stack, &outside_bottom_, &outside_size_);
    if (failure_) throw Cancelled();
  }

  /// How many barriers the lane that runs has come to.
  unsigned count_barrier() { return ++lanes_[current_].barriers; }

  /// Of the lane that runs: what the others of its mask brought along.
  const Lane& exchange(std::uint32_t mask, std::uint64_t bits, unsigned source, bool predicate, int line) {
    if (!(mask >> current_ % lanes_per_warp & 1))
      refuse(current_, "a mask with its own lane in line " + std::to_string(line), "one without");
    Lane& lane = lanes_[current_];
    lane.mask = mask;
    lane.bits = bits;
    lane.source = source;
    lane.predicates = predicate;
    wait(State::at_exchange, line);
    return lane;
  }

  void* shared(const void* key, std::size_t bytes) {
    for (const SharedArray& array : arrays_)
      if (array.key == key) return array.data();
    arrays_.push_back({key, bytes, std::make_unique_for_overwrite<std::byte[]>(bytes + 2 * edge_bytes)});
    arrays_.back().poison();
    return arrays_.back().data();
  }

 private:
  bool all(State state) const {
    return std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return lane.state == state; });
  }

  /// What it throws is the block's failure, unless there is one already.
  template <class Action>
  void attempt(Action action) {
    try {
      action();
    } catch (const Cancelled&) {
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void start(std::size_t index) {
    Lane& lane = lanes_[index];
    lane.state = State::ready;
    lane.barriers = 0;
    lane.stack = stacks().take();
    lane.sanitizer_fiber = new_fiber();
    lane.fiber = context::fiber(std::allocator_arg, TakenStack{lane.stack}, [this, &lane](context::fiber&& outside) {
      arrive(nullptr, &outside_bottom_, &outside_size_);
      outside_ = std::move(outside);
      attempt([&] {
        if (!failure_) work_.lane(work_.context);
      });
      lane.state = State::ended;
      leave_for(nullptr, outside_bottom_, outside_size_);
      switch_to(outside_fiber_);
      return std::move(outside_);
    });
  }

  void go_on(std::size_t index) {
    Lane& lane = lanes_[index];
    current_ = index;
    here.thread = lane.thread;
    lane.state = State::ready;
    void* fake_stack = nullptr;
    outside_fiber_ = this_fiber();
    leave_for(&fake_stack, static_cast<char*>(lane.stack.sp) - lane.stack.size, lane.stack.size);
    switch_to(lane.sanitizer_fiber);
    lane.fiber = std::move(lane.fiber).resume();
    arrive(fake_stack, nullptr, nullptr);
    if (lane.state == State::ended) destroy(lane.sanitizer_fiber);
    for (const SharedArray& array : arrays_)
      if (array.overrun())
        attempt([&] {
          refuse(index, "writes to the " + std::to_string(array.bytes) + " bytes of a shared array", "one beside them");
        });
  }

  /// Opens the barrier or the exchanges that every lane concerned has reached; whether there was one.
  bool open() {
    bool opened = false;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].state == State::at_exchange && !whom_it_lacks(i)) {
        attempt([&] { hand_over(i); });
        opened = true;
      }
    if (opened || whom_it_lacks(0)) return opened;
    for (Lane& lane : lanes_) lane.state = State::ready;
    return true;
  }

  /// The lanes that lane `i` waits for: visit(lane) until it is true; whether it was.
  template <class Visit>
  bool any_partner(std::size_t i, Visit visit) {
    const Lane& lane = lanes_[i];
    const std::uint32_t mask = lane.mask;
    const bool in_warp = lane.state == State::at_exchange;
    const std::size_t first = in_warp ? i / lanes_per_warp * lanes_per_warp : 0;
    const std::size_t end = in_warp ? std::min(lanes_.size(), first + lanes_per_warp) : lanes_.size();
    for (std::size_t k = first; k < end; ++k)
      if ((!in_warp || (mask >> (k - first) & 1)) && visit(lanes_[k])) return true;
    return false;
  }

  /// A lane that does not wait where lane `i` waits for it; null when all do.
  const Lane* whom_it_lacks(std::size_t i) {
    const Lane& lane = lanes_[i];
    const Lane* lacking = nullptr;
    any_partner(i, [&](const Lane& other) {
      const bool there = other.state == lane.state && other.line == lane.line && lane.state != State::ended &&
                         (lane.state == State::at_barrier || other.mask == lane.mask);
      if (!there) lacking = &other;
      return !there;
    });
    return lacking;
  }

  /// Gives each lane of the exchange what it asked for, and lets it go on.
  void hand_over(std::size_t asking) {
    const std::size_t first = asking / lanes_per_warp * lanes_per_warp;
    const std::uint32_t mask = lanes_[asking].mask;
    std::uint32_t predicates = 0;
    any_partner(asking, [&](const Lane& lane) {
      predicates |= lane.predicates << (static_cast<std::size_t>(&lane - lanes_.data()) - first);
      return false;
    });
    const std::size_t end = std::min(lanes_.size(), first + lanes_per_warp);
    for (std::size_t k = first; k < end; ++k) {
      Lane& lane = lanes_[k];
      if (!(mask >> (k - first) & 1)) continue;
      lane.state = State::ready;
      lane.predicates = predicates;
      if (lane.source >= lanes_per_warp || first + lane.source >= lanes_.size() || !(mask >> lane.source & 1))
        refuse(k, "a shuffle from a lane of its mask in line " + std::to_string(lane.line),
               "lane " + std::to_string(lane.source) + " of the warp");
      lane.received = lanes_[first + lane.source].bits;
    }
  }

  /// No lane can go on: says which one waits, and for whom in vain.
  [[noreturn]] void refuse_to_wait() {
    std::size_t waiting = 0;
    while (lanes_[waiting].state == State::ended) ++waiting;
    const Lane& lane = lanes_[waiting];
    const Lane& lacking = *whom_it_lacks(waiting);
    auto text = [](const Lane& of) {
      const std::string line = " in line " + std::to_string(of.line);
      return of.state == State::ended ? "at its end"
                                      : (of.state == State::at_barrier ? "at the barrier" : "at the shuffle") + line;
    };
    refuse(waiting, "all for which it waits " + text(lane),
           "lane " + std::to_string(&lacking - lanes_.data()) + " " + text(lacking));
  }

  const Work work_;
  std::vector<Lane> lanes_;
  Order order_;
  std::vector<SharedArray> arrays_;
  std::size_t current_ = 0;  // the lane that runs
  std::exception_ptr failure_;
  context::fiber outside_;  // who resumed it, with what the sanitizers call that stack
  void* outside_fiber_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
};

Block& meeting_block(const char* what, int line) {
  if (!current_block)
    refuse(index_of(here.thread, here.block_size), "a kernel that is launched as one whose lanes meet",
           std::string(what) + " in line " + std::to_string(line));
  return *current_block;
}

/// For the thread sanitizer: what calls the lanes is a fiber as well.
struct OwnFiber {
  void* before = this_fiber();
  void* own = new_fiber();
  OwnFiber() { switch_to(own); }
  ~OwnFiber() {
    switch_to(before);
    destroy(own);
  }
};

void run_blocks(const Launch& launch, const Work& work, std::size_t begin, std::size_t end) {
  here.grid_size = launch.grid;
  here.block_size = launch.block;
  current_launch = &launch;
  std::unique_ptr<Block> block = launch.meets ? std::make_unique<Block>(launch, work) : nullptr;
  current_block = block.get();
  Order order(size_of(launch.block));
  for (std::size_t b = begin; b < end; ++b) {
    here.block = at(b, launch.grid);
    if (const OwnFiber own; block)  // each lane leaves a call behind here too
      block->run();
    else if (lane_order == LaneOrder::ascending)
      work.block(work.context);
    else
      for (const std::size_t lane : order.next()) {
        here.thread = at(lane, launch.block);
        work.lane(work.context);
      }
  }
}

}  // namespace

thread_local constinit Place detail::here;

void detail::run(const Launch& launch, const Work& work) {
  std::size_t blocks = size_of(launch.grid);
  if (blocks == 0 || size_of(launch.block) == 0 || size_of(launch.block) > 1024)
    throw Error("RES-6", "kernel " + std::string(launch.kernel), "blocks, of 1 to 1024 lanes",
                text_of(launch.grid) + " blocks of " + text_of(launch.block));
  if (lanes_of_scope && sabotaged("last_block_is_lost")) --blocks;
  std::mutex mutex;
  std::size_t first = blocks;  // the lowest block that failed, whichever ran first
  std::exception_ptr failure;
  parallel_for(static_cast<std::int64_t>(blocks), 1, [&](std::int64_t begin, std::int64_t end) {
    try {
      run_blocks(launch, work, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (const std::size_t block = index_of(here.block, launch.grid); block < first) {
        first = block;
        failure = std::current_exception();
      }
    }
    current_block = nullptr;
  });
  if (failure) std::rethrow_exception(failure);
}

void barrier(int line) {
  Block& block = meeting_block("a barrier", line);
  if (sabotaged("barriers_of_products_are_passed") && current_launch->kernel == std::string("matmul") &&
      block.count_barrier() > 2)
    return;
  block.wait(State::at_barrier, line);
}

std::uint64_t exchange(std::uint32_t mask, std::uint64_t bits, unsigned source, int line) {
  return meeting_block("a shuffle", line).exchange(mask, bits, source, false, line).received;
}

std::uint32_t ballot(std::uint32_t mask, bool predicate, int line) {
  const unsigned own = lane_of_warp();
  return meeting_block("a ballot", line).exchange(mask, 0, own, predicate, line).predicates;
}

void* shared(const void* key, std::size_t bytes) { return meeting_block("shared memory", 0).shared(key, bytes); }

LaneOrderScope::LaneOrderScope(LaneOrder order, std::uint64_t seed) {
  lane_order = order;
  lane_seed = seed;
}
LaneOrderScope::~LaneOrderScope() { lane_order = LaneOrder::ascending; }

BlockSizeScope::BlockSizeScope(unsigned lanes) { lanes_of_scope = lanes; }
BlockSizeScope::~BlockSizeScope() { lanes_of_scope = 0; }
unsigned block_lanes(unsigned usual) { return lanes_of_scope ? lanes_of_scope : usual; }

}  // namespace assay::simt
