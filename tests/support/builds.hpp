// in_every_build: the same check in each build of the kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/cpu/isa.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/device.hpp"
#include "numerics/hypothesis.hpp"

namespace assay::test {

/// Calls check(its name and the number of threads) in each build that this processor runs; in debug and sanitizer
/// builds, which are slow, on several threads alone. On the cpu also in the build for hypotheses, where nothing is
/// switched.
inline void in_every_build(Device device, const std::string& what,
                           const std::function<void(const std::string&)>& check) {
#ifdef ASSAY_POISON
  const std::vector<int> counts{3};
#else
  const std::vector<int> counts{1, 3};
#endif
  const Isa widest = isa();
  for (Isa build : {Isa::baseline, Isa::avx2, Isa::avx512})
    for (int count : counts) {
      if (build > widest) continue;
      const IsaScope scope(build);
      set_threads(count);
      check(what + ", " + to_string(build) + " on " + std::to_string(count) + " threads");
    }
  set_threads(1);
  if (!(device == cpu)) return;
  const ArithmeticScope nothing_switched({});
  check(what + ", as a hypothesis");
}

}  // namespace assay::test
