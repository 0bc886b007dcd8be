// ACC-8: a buffer has no order.
// refused: operator ?<|operands to binary expression
#include "device/buffer.hpp"

void test(const assay::DeviceBuffer& a, const assay::DeviceBuffer& b) {
#ifdef ASSAY_KEEPS
  static_cast<void>(a.bytes() < b.bytes());
#else
  static_cast<void>(a < b);
#endif
}
