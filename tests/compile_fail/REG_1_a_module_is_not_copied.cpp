// REG-1: a module is not copied.
// refused: deleted
#include "nn/linear.hpp"

void test(assay::Linear& module) {
#ifdef ASSAY_KEEPS
  const assay::Linear& same = module;
  static_cast<void>(same);
#else
  assay::Linear copy(module);
#endif
}
