// Sums over axes in lane or chain order.
#include "kernels/sum.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

// The offset of flat index `index` over axes first … last − 1 of the view.
ASSAY_INLINE std::int64_t offset_of(const View<const float>& x, int first, int last, std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = last - 1; axis >= first; --axis) {
    offset += index % x.extent[axis] * x.stride[axis];
    index /= x.extent[axis];
  }
  return offset;
}

}  // namespace

void sum(View<const float> x, int kept, bool lanes, View<float> y) {
  std::int64_t count = 1, stride = kept < x.rank ? x.stride[x.rank - 1] : 0;
  bool one_run = true;  // the summed axes are one run of elements `stride` apart
  for (int axis = x.rank - 1; axis >= kept; --axis) {
    if (x.extent[axis] != 1 && x.stride[axis] != stride * count) one_run = false;
    count *= x.extent[axis];
  }
  parallel_for(size_of(y), elements_per_task / (count + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* row = x.data + offset_of(x, 0, kept, i);
      auto add_up = [=](auto term) {
        auto size = static_cast<std::size_t>(count);
        return lanes ? numerics::lane_sum(size, term) : numerics::chain_sum(0, size, term);
      };
      if (one_run && stride == 1)
        y.data[i] = add_up([=](std::size_t k) { return row[k]; });
      else if (one_run)
        y.data[i] = add_up([=](std::size_t k) { return row[static_cast<std::int64_t>(k) * stride]; });
      else
        y.data[i] =
            add_up([=](std::size_t k) { return row[offset_of(x, kept, x.rank, static_cast<std::int64_t>(k))]; });
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
