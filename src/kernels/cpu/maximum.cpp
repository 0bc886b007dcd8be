// Maximum over the last axis, row by row.
#include "kernels/maximum.hpp"

#include "kernels/cpu/rows.hpp"

namespace assay::kernels::ASSAY_ISA {

void maximum(View<const float> x, View<float> y) {
  std::int64_t length = x.extent[x.rank - 1];
  for_rows(size_of(y), length, [=](std::int64_t row) { y.data[row] = row_maximum(x.data + row * length, length); });
}

void maximum_gradient(View<const float> x, View<const float> upstream, View<float> gradient) {
  std::int64_t length = x.extent[x.rank - 1];
  for_rows(size_of(upstream), length, [=](std::int64_t row) {
    float* to = gradient.data + row * length;
    for (std::int64_t i = 0; i < length; ++i) to[i] = 0;
    to[row_argmax(x.data + row * length, length)] = upstream.data[row];
  });
}

}  // namespace assay::kernels::ASSAY_ISA
