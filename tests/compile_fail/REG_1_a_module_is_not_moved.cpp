// REG-1: a module is not moved.
// refused: deleted
#include <utility>

#include "nn/linear.hpp"

void test(assay::Linear& module) {
#ifdef ASSAY_KEEPS
  assay::Linear&& same = std::move(module);
  static_cast<void>(same);
#else
  assay::Linear moved(std::move(module));
#endif
}
