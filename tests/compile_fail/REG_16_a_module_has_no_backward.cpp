// REG-16: a module has no backward.
// refused: no member named
#include "nn/linear.hpp"

void test(assay::Module& module, const assay::Variable& loss) {
#ifdef ASSAY_KEEPS
  static_cast<void>(module), loss.backward();
#else
  static_cast<void>(loss), module.backward();
#endif
}
