// Sum of squares of one run of elements.
#include "kernels/squared_norm.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/order.hpp"

namespace assay::kernels::ASSAY_ISA {

double squared_norm(View<const float> x) {
  auto term = [data = x.data](std::size_t i) { return static_cast<double>(data[i]); };
  return numerics::lane_dot(static_cast<std::size_t>(size_of(x)), term, term);
}

}  // namespace assay::kernels::ASSAY_ISA
