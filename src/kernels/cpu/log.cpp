// Natural logarithm, element by element.
#include "kernels/log.hpp"

#include "kernels/cpu/elementwise.hpp"
#include "numerics/log.hpp"

namespace assay::kernels::ASSAY_ISA {

void log(View<const float> x, View<float> y) {
  map([](float value) { return numerics::log(value); }, y, x);
}

}  // namespace assay::kernels::ASSAY_ISA
