// ACC-8: a buffer does not convert to a truth.
// refused: cannot convert|no viable conversion
#include "device/buffer.hpp"

void test(const assay::DeviceBuffer& buffer) {
#ifdef ASSAY_KEEPS
  const bool is_there = buffer.data() != nullptr;
  static_cast<void>(is_there);
#else
  const bool is_there = buffer;
  static_cast<void>(is_there);
#endif
}
