// parallel_for of the kernels under a hypothesis: the calling thread alone, whose floating-point environment may
// differ.
#pragma once

#include <cstdint>

namespace assay::kernels::ASSAY_ISA {

/// Hides the one of the thread pool.
template <class Work>
void parallel_for(std::int64_t count, std::int64_t, Work&& work) {
  if (count > 0) work(std::int64_t{0}, count);
}

}  // namespace assay::kernels::ASSAY_ISA
