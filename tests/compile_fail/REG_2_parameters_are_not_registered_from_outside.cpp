// REG-2: parameters are not registered from outside.
// refused: protected
#include "nn/linear.hpp"

void test(assay::Module& module, assay::Parameter& parameter) {
#ifdef ASSAY_KEEPS
  static_cast<void>(module.parameters()), static_cast<void>(parameter);
#else
  module.register_parameter("more", parameter);
#endif
}
