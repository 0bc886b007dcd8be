// The switch at the site of a saboteur; base/saboteurs.hpp lists them.
#pragma once

namespace assay {

#ifdef ASSAY_SABOTAGE
/// Whether this saboteur is at work: the one that the environment variable ASSAY_SABOTEUR names.
///
///     if (!sabotaged("accumulation_forgets")) total = kernels::add(gradient, total);
bool sabotaged(const char* name);
#else
constexpr bool sabotaged(const char*) { return false; }
#endif

}  // namespace assay
