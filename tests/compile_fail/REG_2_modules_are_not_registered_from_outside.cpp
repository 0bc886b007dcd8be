// REG-2: modules are not registered from outside.
// refused: protected
#include "nn/linear.hpp"

void test(assay::Module& module, assay::Module& child) {
#ifdef ASSAY_KEEPS
  static_cast<void>(module.parameters()), static_cast<void>(child);
#else
  module.register_module("more", child);
#endif
}
