// Whether a tensor is finite.
#include "kernels/finite.hpp"

#include "kernels/cpu/all_finite.hpp"
#include "kernels/cpu/runs.hpp"

namespace assay::kernels::ASSAY_ISA {

void finite(View<const float> x, View<std::uint64_t> slot) {
  AllFinite checked;
  for_each_run([&](std::int64_t, std::int64_t count,
                   auto run) { checked.look(count, [&](std::int64_t i) { return zero_if_finite(run[i]); }); },
               x);
  *slot.data = checked.all;
}

}  // namespace assay::kernels::ASSAY_ISA
