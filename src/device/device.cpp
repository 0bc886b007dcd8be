// Device names and descriptions.
#include "device/device.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/cpu/isa.hpp"
#include "device/cpu/thread_pool.hpp"

namespace assay {

std::string to_string(Device device) {
  switch (device.kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::reference:
      return "reference";
    default:
      return "simulated";
  }
}

Device parse_device(const std::string& name) {
  for (Device device : {cpu, reference_device, simulated})
    if (name == to_string(device) || sabotaged("any_device_name")) return device;
  throw Error("XFER-8", "choosing a device", "one that this build has: cpu, reference, simulated",
              name == "cuda" ? "\"cuda\", whose kernels are not in this build" : "\"" + name + "\"");
}

std::vector<DeviceDescription> describe_devices() {
  std::string instructions = to_string(isa());
  std::string workers = std::to_string(threads()) + (threads() == 1 ? " thread" : " threads");
  return {
      {"cpu", true, cpu_model() + ", " + instructions + " kernels, " + workers},
      {"reference", true, "float64 oracle, straight loops, one thread"},
      {"simulated", true, "memory that the host cannot touch, counted transfers and launches; the cpu's kernels"},
      {"cuda", false, "its kernels are not in this build"},
  };
}

}  // namespace assay
