// ACC-8: a buffer has no arithmetic.
// refused: operator ?\+|operands to binary expression
#include "device/buffer.hpp"

void test(const assay::DeviceBuffer& buffer) {
#ifdef ASSAY_KEEPS
  static_cast<void>(buffer.data() + 1);
#else
  static_cast<void>(buffer + 1);
#endif
}
