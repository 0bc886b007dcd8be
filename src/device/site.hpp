// Site: the place in a program that asked for something.
#pragma once

namespace assay {

/// File, line and function of a call. As a default argument it is the caller's; clang 14 has no std::source_location.
///
///     Snapshot<float> read(Site site = Site::here()) const;
struct Site {
  const char* file;
  int line;
  const char* function;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                             const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

}  // namespace assay
