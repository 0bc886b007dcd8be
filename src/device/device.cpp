// Device names and descriptions.
#include "device/device.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/cpu/isa.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/cuda/runtime.hpp"

namespace assay {
namespace {

constexpr const char* not_built = "its kernels are not in this build: Meson builds them with nvcc (-Dcuda=enabled)";

DeviceDescription describe_cuda() {
  if constexpr (have_cuda) {
    return {"cuda", cuda::usable(), cuda::description()};
  } else {
    return {"cuda", false, not_built};
  }
}

}  // namespace

std::string to_string(Device device) {
  constexpr const char* names[] = {"cpu", "reference", "simulated", "cuda"};
  return names[static_cast<int>(device.kind)];
}

Device parse_device(const std::string& name) {
  for (Device device : all_devices)
    if (name == to_string(device) || sabotaged("any_device_name")) {
      require_usable(device);
      return device;
    }
  throw Error("XFER-8", "choosing a device", "cpu, reference, simulated or cuda", "\"" + name + "\"");
}

void require_usable(Device device) {
  if (!(device == cuda_device)) return;
  if constexpr (have_cuda)
    if (cuda::usable()) return;
  throw Error("XFER-8", "choosing a device",
              "a usable one; simulated (assay run --device simulated) runs the kernels of cuda on the CPU",
              "cuda: " + describe_cuda().detail);
}

std::vector<DeviceDescription> describe_devices() {
  std::string instructions = to_string(isa());
  std::string workers = std::to_string(threads()) + (threads() == 1 ? " thread" : " threads");
  return {
      {"cpu", true, cpu_model() + ", " + instructions + " kernels, " + workers},
      {"reference", true, "float64 oracle, straight loops, one thread"},
      {"simulated", true,
       "memory that the host cannot touch, counted transfers and launches; cuda's kernels on the CPU"},
      describe_cuda(),
  };
}

}  // namespace assay
