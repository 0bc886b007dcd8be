// Saboteurs: deliberate breaks, one for each promise, that show that the promise's test can fail.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace assay {

/// A break that a test build can switch on: which contract ids must then go red, and what it breaks.
struct Saboteur {
  std::string_view name, ids, breaks;
};

inline constexpr Saboteur saboteurs[] = {
    {"gradient_once_per_reference", "GRAPH-2 GRAPH-10", "a leaf used twice gets the contribution of one use"},
    {"accumulation_forgets", "GRAPH-4", "a backward pass replaces the pending gradient"},
};

/// A name of the list above, checked when the site is compiled.
class SabotageSite {
 public:
  consteval SabotageSite(const char* name) : number_(0) {  // NOLINT: a site is written as its name
    while (saboteurs[number_].name != name) ++number_;     // past the end: no such saboteur, does not compile
  }
  constexpr std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

#ifdef ASSAY_SABOTAGE
/// Whether this saboteur is at work: the one that the environment variable ASSAY_SABOTEUR names.
///
///     if (!sabotaged("accumulation_forgets")) total = kernels::add(gradient, total);
bool sabotaged(SabotageSite site);
#else
constexpr bool sabotaged(SabotageSite) { return false; }
#endif

}  // namespace assay
