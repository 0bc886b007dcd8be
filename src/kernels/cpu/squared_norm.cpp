// Sum of squares of one run of elements.
#include "kernels/squared_norm.hpp"

#include "kernels/cpu/lanes.hpp"
#include "kernels/cpu/walk.hpp"

namespace assay::kernels::ASSAY_ISA {

double squared_norm(View<const float> x) {
  return parallel_lane_chunks(size_of(x), [data = x.data](std::size_t begin, std::size_t count) {
    return numerics::lane_chunk_squares(begin, count, [=](std::size_t i) { return static_cast<double>(data[i]); });
  });
}

}  // namespace assay::kernels::ASSAY_ISA
