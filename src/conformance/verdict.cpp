// How a verdict reads, and where it is reached.
#include "conformance/verdict.hpp"

namespace assay::conformance {

std::string text_of(const Verdict& verdict) {
  std::string text = verdict.subject + " on " + to_string(verdict.device) + ": " + verdict.id + ": " + verdict.promise;
  return verdict.holds ? text : text + ": " + verdict.message;
}

const std::vector<Device>& devices() {
  static const std::vector<Device> all = [] {
    std::vector<Device> usable{cpu, simulated};
    if (describe_devices().back().usable) usable.push_back(cuda_device);
    return usable;
  }();
  return all;
}

Device other_than(Device device) {
  for (Device other : devices())
    if (!(other == device)) return other;
  return device;
}

}  // namespace assay::conformance
