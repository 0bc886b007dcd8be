// Choice of the kernel build, once per process.
#include "device/cpu/isa.hpp"

#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay {
namespace {

bool supported(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return true;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512:
      return supported(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  }
  return false;
}

Isa choose() {
  constexpr Isa widest_first[] = {Isa::avx512, Isa::avx2, Isa::baseline};
  if (const char* forced = std::getenv("ASSAY_ISA")) {
    for (Isa isa : widest_first) {
      if (forced != to_string(isa)) continue;
      if (!supported(isa)) throw Error("NUM-2", "ASSAY_ISA", "instructions that this processor has", forced);
      return isa;
    }
    if (sabotaged("any_instruction_set")) return Isa::baseline;
    throw Error("NUM-2", "ASSAY_ISA", "baseline, avx2 or avx512", "\"" + std::string(forced) + "\"");
  }
  for (Isa isa : widest_first)
    if (supported(isa)) return isa;
  return Isa::baseline;
}

Isa& chosen() {
  static Isa isa = choose();
  return isa;
}

}  // namespace

Isa isa() { return chosen(); }

IsaScope::IsaScope(Isa isa) : before_(std::exchange(chosen(), isa)) {}
IsaScope::~IsaScope() { chosen() = before_; }

std::string to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

}  // namespace assay
