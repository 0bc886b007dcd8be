// BuildInfo from what the build system wrote down.
#include "base/build_info.hpp"

#include "build_options.hpp"
#include "git_commit.hpp"

namespace assay {

BuildInfo build_info() {
  std::string commit = ASSAY_GIT_COMMIT;
  std::string dirty_mark = "-dirty";
  bool dirty = commit.size() > dirty_mark.size() && commit.ends_with(dirty_mark);
  if (dirty) commit.resize(commit.size() - dirty_mark.size());
  return {ASSAY_VERSION, commit, dirty, ASSAY_COMPILER, ASSAY_COMPILER_FLAGS, ASSAY_BUILD_TYPE, ASSAY_CUDA_VERSION};
}

}  // namespace assay
