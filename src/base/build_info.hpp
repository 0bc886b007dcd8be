// BuildInfo: what made this program.
#pragma once

#include <string>

namespace assay {

struct BuildInfo {
  std::string version;
  std::string git_commit;  ///< 40 hexadecimal digits, or "unknown" when built outside of a repository
  bool git_dirty;          ///< whether tracked files differed from the commit
  std::string compiler;    ///< "gcc 12.2.0"
  std::string flags;       ///< of the exact units
  std::string build_type;  ///< "release", with the sanitizers behind it
  std::string cuda;        ///< version of nvcc, "13.0.88"; empty without CUDA
};

BuildInfo build_info();

}  // namespace assay
