// Matrix product as the plain loop of N2: one ascending chain an output, many outputs side by side.
#include "kernels/matmul.hpp"

#include "device/cpu/thread_pool.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {
namespace {

constexpr std::int64_t strip = 64;  // outputs side by side
constexpr std::int64_t block = numerics::chain_block;

// One block of the chains of one row: c[j] = Σ x[k·step]·y[k·stride + j], added to what the blocks before have left.
template <bool full>
ASSAY_INLINE void add_block(const float* x, std::int64_t step, const float* y, std::int64_t stride, std::int64_t depth,
                            bool first, float* c, std::int64_t c_step, std::int64_t width) {
  if (full) width = strip;
  float part[strip] = {};
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t j = 0; j < width; ++j) part[j] = numerics::fma(x[k * step], y[k * stride + j], part[j]);
  for (std::int64_t j = 0; j < width; ++j) c[j * c_step] = first ? part[j] : c[j * c_step] + part[j];
}

}  // namespace

void matmul(View<const float> a, View<const float> b, View<float> c) {
  std::int64_t depth = a.extent[1], columns = c.extent[1];
  parallel_for(c.extent[0], 4, [=](std::int64_t first_row, std::int64_t end_row) {
    float turned[block * strip];  // a block of b whose columns are not side by side
    for (std::int64_t column = 0; column < columns; column += strip) {
      std::int64_t width = columns - column < strip ? columns - column : strip;
      for (std::int64_t begin = 0; begin == 0 || begin < depth; begin += block) {
        std::int64_t count = depth - begin < block ? depth - begin : block;
        const float* y = b.data + begin * b.stride[0] + column * b.stride[1];
        std::int64_t stride = b.stride[0];
        if (b.stride[1] != 1) {
          for (std::int64_t j = 0; j < width; ++j)
            for (std::int64_t k = 0; k < count; ++k) turned[k * strip + j] = y[k * stride + j * b.stride[1]];
          y = turned;
          stride = strip;
        }
        for (std::int64_t row = first_row; row < end_row; ++row) {
          const float* x = a.data + row * a.stride[0] + begin * a.stride[1];
          float* to = c.data + row * c.stride[0] + column * c.stride[1];
          if (width == strip)
            add_block<true>(x, a.stride[1], y, stride, count, begin == 0, to, c.stride[1], width);
          else
            add_block<false>(x, a.stride[1], y, stride, count, begin == 0, to, c.stride[1], width);
        }
      }
    }
  });
}

}  // namespace assay::kernels::ASSAY_ISA
