// The profile of the process.
#include "device/profile.hpp"

#include <atomic>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/cpu/isa.hpp"

namespace assay {
namespace {

std::atomic<Profile> chosen = Profile::exact;
std::atomic<bool> tf32_allowed = false;

}  // namespace

Profile profile() {
  if (sabotaged("wide_registers_are_fast") && isa() != Isa::baseline) return Profile::fast;
  return chosen.load(std::memory_order_relaxed);
}

void set_profile(Profile profile) { chosen.store(profile, std::memory_order_relaxed); }

bool tf32() { return tf32_allowed.load(std::memory_order_relaxed); }
void set_tf32(bool allowed) { tf32_allowed.store(allowed, std::memory_order_relaxed); }

std::string to_string(Profile profile) { return profile == Profile::exact ? "exact" : "fast"; }

Profile parse_profile(const std::string& name) {
  for (Profile profile : {Profile::exact, Profile::fast})
    if (name == to_string(profile)) return profile;
  throw Error("RUN-1", "choosing a profile", "exact or fast", "\"" + name + "\"");
}

}  // namespace assay
