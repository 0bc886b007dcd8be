// ACC-8: a buffer has no subscript.
// refused: operator ?\[\]|subscript
#include "device/buffer.hpp"

void test(const assay::DeviceBuffer& buffer) {
#ifdef ASSAY_KEEPS
  static_cast<void>(buffer.data());
#else
  static_cast<void>(buffer[0]);
#endif
}
