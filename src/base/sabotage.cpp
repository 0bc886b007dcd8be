// Which saboteur is at work.
#include "base/sabotage.hpp"

#include <cstdio>
#include <cstdlib>

namespace assay {

#ifdef ASSAY_SABOTAGE
namespace {

std::size_t active() {
  const char* name = std::getenv("ASSAY_SABOTEUR");
  if (!name || !*name) return std::size(saboteurs);
  for (std::size_t i = 0; i < std::size(saboteurs); ++i)
    if (saboteurs[i].name == name) return i;
  std::fprintf(stderr, "ASSAY_SABOTEUR: no saboteur is called \"%s\"\n", name);
  std::exit(2);
}

}  // namespace

bool sabotaged(SabotageSite site) {
  static const std::size_t number = active();
  return site.number() == number;
}
#endif

}  // namespace assay
