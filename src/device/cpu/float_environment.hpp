// The floating-point environment of a thread, which every bit rests on.
#pragma once

#include <xmmintrin.h>

#include <string>

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay {

/// Refuses to compute on a thread that another library has set to flush subnormals, to round otherwise or to trap.
/// Errors: NUM-1.
inline void require_default_float_environment(const char* operation) {
  constexpr unsigned flags = 0x3f;  // sticky, and mean nothing here
  if (const unsigned found = _mm_getcsr(); (found & ~flags) != 0x1f80 && !sabotaged("any_float_environment"))
    throw Error("NUM-1", operation,
                "a thread that rounds to nearest, keeps subnormals and does not trap (MXCSR 0x1f80)",
                "MXCSR " + std::to_string(found));
}

/// While one exists that was made with true, this thread takes subnormal operands and results for zeros.
class FlushScope {
 public:
  explicit FlushScope(bool flush) : before_(_mm_getcsr()) {
    if (flush) _mm_setcsr(before_ | 0x8040);
  }
  ~FlushScope() { _mm_setcsr(before_); }
  FlushScope(const FlushScope&) = delete;
  FlushScope& operator=(const FlushScope&) = delete;

 private:
  const unsigned before_;
};

}  // namespace assay
