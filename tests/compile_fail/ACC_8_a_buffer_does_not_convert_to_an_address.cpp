// ACC-8: a buffer does not convert to an address.
// refused: cannot convert|no viable conversion
#include "device/buffer.hpp"

void test(const assay::DeviceBuffer& buffer) {
#ifdef ASSAY_KEEPS
  const void* address = buffer.data();
  static_cast<void>(address);
#else
  const void* address = buffer;
  static_cast<void>(address);
#endif
}
