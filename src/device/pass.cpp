// The pass pools of each thread.
#include "device/pass.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/sabotage.hpp"
#include "device/pool.hpp"

namespace assay {
namespace {

using Pools = std::array<std::unique_ptr<Pool>, device_kinds>;

// Pools of threads that ended, for those to come. Tensors may still point to them, so they are never destroyed.
std::mutex spare_mutex;
std::vector<Pools>& spare() {
  static auto* pools = new std::vector<Pools>;
  return *pools;
}

Pools make_pools() {
  static std::atomic<int> made{0};
  {
    std::lock_guard<std::mutex> lock(spare_mutex);
    if (!spare().empty()) {
      Pools pools = std::move(spare().back());
      spare().pop_back();
      return pools;
    }
  }
  const std::string number = std::to_string(++made);
  Pools pools;
  for (Device device : all_devices)
    pools[static_cast<std::size_t>(device.kind)] =
        std::make_unique<Pool>(device, "pass pool " + number + " of " + to_string(device));
  return pools;
}

struct ThreadPasses {
  int depth = 0;
  Pools pools = make_pools();

  void begin(std::shared_ptr<const std::string> name) {
    for (auto& pool : pools) pool->next_generation(name);
  }
  ~ThreadPasses() {
    begin(std::make_shared<const std::string>("a thread that ended"));
    std::lock_guard<std::mutex> lock(spare_mutex);
    spare().push_back(std::move(pools));
  }
};

thread_local std::unique_ptr<ThreadPasses> passes;  // made by the thread's first pass

}  // namespace

PassScope::PassScope(std::string name) {
  if (!passes) passes = std::make_unique<ThreadPasses>();
  if (passes->depth == 0 || sabotaged("inner_pass_frees"))
    passes->begin(std::make_shared<const std::string>(std::move(name)));
  ++passes->depth;
}

PassScope::~PassScope() { --passes->depth; }

Pool& current_pool(Device device) {
  return passes && (passes->depth > 0 || sabotaged("outside_counts_as_a_pass"))
             ? *passes->pools[static_cast<std::size_t>(device.kind)]
             : persistent_pool(device);
}

}  // namespace assay
