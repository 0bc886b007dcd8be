// Which saboteur is at work.
#include "base/sabotage.hpp"

#include <cstdlib>
#include <cstring>

namespace assay {

#ifdef ASSAY_SABOTAGE
bool sabotaged(const char* name) {
  static const char* const active = std::getenv("ASSAY_SABOTEUR");
  return active && std::strcmp(active, name) == 0;
}
#endif

}  // namespace assay
