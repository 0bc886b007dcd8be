// REG-1: a module is not assigned.
// refused: deleted
#include <utility>

#include "nn/linear.hpp"

void test(assay::Linear& module, assay::Linear& other) {
#ifdef ASSAY_KEEPS
  static_cast<void>(&module == &other);
#else
  module = std::move(other);
#endif
}
