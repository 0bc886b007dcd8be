// ACC-8: a buffer is not printed.
// refused: operator ?<<|operands to binary expression
#include <ostream>

#include "device/buffer.hpp"

void test(std::ostream& out, const assay::DeviceBuffer& buffer) {
#ifdef ASSAY_KEEPS
  out << buffer.bytes();
#else
  out << buffer;
#endif
}
