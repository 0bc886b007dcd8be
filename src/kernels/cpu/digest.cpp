// The digest of a tensor: a sum of integers, so the split over threads never shows.
#include "kernels/digest.hpp"

#include "kernels/cpu/runs.hpp"
#include "numerics/digest.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

template <class T>
void digest_of(const View<const T>& x, std::uint64_t first_index, View<std::uint64_t> slot) {
  std::uint64_t total = 0;
  for_each_run(
      [&](std::int64_t first, std::int64_t count, auto run) {
        std::uint64_t index = first_index + static_cast<std::uint64_t>(first), sum = 0;
        for (std::int64_t i = 0; i < count; ++i)
          sum += numerics::digest_element(index + static_cast<std::uint64_t>(i), run[i]);
        __atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
      },
      x);
  *slot.data = total;
}

}  // namespace

void digest(View<const float> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  digest_of(x, first_index, slot);
}
void digest(View<const double> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  digest_of(x, first_index, slot);
}
void digest(View<const std::int32_t> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  digest_of(x, first_index, slot);
}
void digest(View<const std::uint8_t> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  digest_of(x, first_index, slot);
}
void digest(View<const std::uint64_t> x, std::uint64_t first_index, View<std::uint64_t> slot) {
  digest_of(x, first_index, slot);
}

}  // namespace assay::kernels::ASSAY_ISA
