// REG-16: a module has no forward.
// refused: no member named
#include "nn/linear.hpp"

void test(assay::Module& module, assay::Linear& linear, const assay::Variable& x) {
#ifdef ASSAY_KEEPS
  static_cast<void>(module), linear.forward(x);
#else
  static_cast<void>(linear), module.forward(x);
#endif
}
