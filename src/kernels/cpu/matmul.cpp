// Matrix product as the plain loop of N2: one ascending chain an output, many outputs side by side.
#include "kernels/matmul.hpp"

#include "device/cpu/thread_pool.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr std::int64_t strip = 64;

// Columns first … first + width of row `row`.
template <bool full>
ASSAY_INLINE void row_strip(const View<const float>& a, const View<const float>& b, const View<float>& c, std::int64_t row,
                            std::int64_t first, std::int64_t width) {
  if (full) width = strip;
  std::int64_t depth = a.extent[1];
  float total[strip] = {};
  for (std::int64_t begin = 0; begin < depth; begin += numerics::chain_block) {
    std::int64_t end = begin + std::int64_t{numerics::chain_block};
    if (end > depth) end = depth;
    float part[strip] = {};
    for (std::int64_t k = begin; k < end; ++k) {
      float x = a.data[row * a.stride[0] + k * a.stride[1]];
      const float* y = b.data + k * b.stride[0] + first;
      for (std::int64_t j = 0; j < width; ++j) part[j] = numerics::fma(x, y[j], part[j]);
    }
    for (std::int64_t j = 0; j < width; ++j) total[j] = begin == 0 ? part[j] : total[j] + part[j];
  }
  for (std::int64_t j = 0; j < width; ++j) c.data[row * c.stride[0] + (first + j) * c.stride[1]] = total[j];
}

}  // namespace

void matmul(View<const float> a, View<const float> b, View<float> c) {
  parallel_for(c.extent[0], 4, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = 0; first < c.extent[1]; first += strip)
      for (std::int64_t row = begin; row < end; ++row)
        if (c.extent[1] - first >= strip)
          row_strip<true>(a, b, c, row, first, strip);
        else
          row_strip<false>(a, b, c, row, first, c.extent[1] - first);
  });
}

}  // namespace assay::kernels::ASSAY_ISA
