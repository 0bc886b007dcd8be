// A CUDA kernel on the host: blocks of lanes that meet at barriers, exchange values and share memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace assay::simt {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

constexpr unsigned lanes_per_warp = 32;

/// Where the lane that is running stands; what `threadIdx`, `blockIdx`, `blockDim` and `gridDim` are in a kernel.
struct Place {
  Dim3 thread, block, block_size, grid_size;
};
namespace detail {
extern thread_local constinit Place here;
}
inline const Place& place() { return detail::here; }
inline unsigned lane_of_warp() {
  const Place& at = place();
  return (at.thread.x + at.block_size.x * (at.thread.y + at.block_size.y * at.thread.z)) % lanes_per_warp;
}

/// How a kernel is launched. Without `meets` its lanes run one after another as a plain loop, and a barrier, a shuffle
/// or shared memory in it is refused.
struct Launch {
  const char* kernel;
  Dim3 grid, block;
  bool meets = false;
};

namespace detail {
/// What a launch calls: for one lane, and for all lanes of a block that do not meet.
struct Work {
  void (*lane)(void*);
  void (*block)(void*);
  void* context;
};
void run(const Launch& launch, const Work& work);
}  // namespace detail

/// Calls `lane()` for every lane of every block and returns when all are done. Blocks are spread over the threads of
/// the cpu device and run in no particular order; the lanes of a block are fibers of one thread.
///
/// What goes wrong is thrown when the launch ends, as an Error RES-6 naming kernel, block and lane: a barrier that not
/// every lane of the block reaches, or at different lines; a shuffle that not every lane of its mask reaches, or that
/// reads a lane outside; a write beyond the end of shared memory; whatever a lane throws. The other lanes are unwound.
///
///     run({"reverse", {1}, {64}, true}, [&] { … });
template <class Lane>
void run(const Launch& launch, const Lane& lane) {
  auto one = [](void* context) { (*static_cast<const Lane*>(context))(); };
  auto all = [](void* context) {
    const Dim3 size = place().block_size;
    Dim3& thread = detail::here.thread;
    for (thread.z = 0; thread.z < size.z; ++thread.z)
      for (thread.y = 0; thread.y < size.y; ++thread.y)
        for (thread.x = 0; thread.x < size.x; ++thread.x) (*static_cast<const Lane*>(context))();
  };
  detail::run(launch, {one, all, const_cast<Lane*>(std::addressof(lane))});
}

/// The order in which the lanes of a block run, and go on after each meeting. A kernel whose bits depend on it lacks a
/// barrier, or has lanes that write the same place.
enum class LaneOrder { ascending, descending, shuffled };

/// While one exists, launches go on in that order; `seed` is that of the shuffle. At most one at a time.
class LaneOrderScope {
 public:
  explicit LaneOrderScope(LaneOrder order, std::uint64_t seed = 0);
  ~LaneOrderScope();
  LaneOrderScope(const LaneOrderScope&) = delete;
  LaneOrderScope& operator=(const LaneOrderScope&) = delete;
};

/// While one exists, kernels that may be cut into blocks anywhere have blocks of `lanes` lanes, a multiple of 32 up to
/// 1024. No bit depends on it. At most one at a time.
class BlockSizeScope {
 public:
  explicit BlockSizeScope(unsigned lanes);
  ~BlockSizeScope();
  BlockSizeScope(const BlockSizeScope&) = delete;
  BlockSizeScope& operator=(const BlockSizeScope&) = delete;
};

/// The lanes of a block: what the scope says, else `usual`.
unsigned block_lanes(unsigned usual);

/// Waits for all lanes of the block.
void barrier(int line);

/// Waits for the lanes of `mask` in this warp, and gives the bits that lane `source` of it brought along.
std::uint64_t exchange(std::uint32_t mask, std::uint64_t bits, unsigned source, int line);

/// The lanes of `mask` whose predicate holds, one bit each.
std::uint32_t ballot(std::uint32_t mask, bool predicate, int line);

/// Memory that all lanes of the block share under `key`: signalling NaNs at first, with a guarded edge on both sides.
void* shared(const void* key, std::size_t bytes);

}  // namespace assay::simt
