// Sum of squares of one run of elements.
#include "kernels/squared_norm.hpp"

#include "kernels/cpu/lanes.hpp"
#include "kernels/walk.hpp"

namespace assay::kernels::ASSAY_ISA {

void squared_norm(View<const float> x, View<std::uint64_t> slot) {
  const double sum = parallel_lane_chunks(size_of(x), [data = x.data](std::size_t begin, std::size_t count) {
    // Without being asked for ahead, memory comes at half of its speed: the arithmetic hides it from the processor.
    // GCC takes a function that does no more for one without effect, unless it is inlined early.
    auto ahead = [=](std::size_t i) __attribute__((always_inline)) {
      __builtin_prefetch(data + i + 512);
      __builtin_prefetch(data + i + 528);
    };
    return numerics::lane_chunk_squares(
        begin, count, [=](std::size_t i) { return static_cast<double>(data[i]); }, ahead);
  });
  *slot.data = std::bit_cast<std::uint64_t>(sum);
}

void norm_factor(View<const std::uint64_t> squares, double limit, View<float> factor) {
  const auto count = static_cast<std::size_t>(squares.extent[0]);
  *factor.data = static_cast<float>(numerics::norm_factor(squares.data, count, limit));
}

}  // namespace assay::kernels::ASSAY_ISA
