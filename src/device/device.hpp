// Device: where a tensor's value lives and its kernels run.
#pragma once

#include <string>
#include <vector>

namespace assay {

enum class DeviceKind { cpu, reference, simulated };
inline constexpr int device_kinds = 3;

/// Names a device. `cpu` computes in binary32 as `reference/numerics.md` says. `simulated` stands in for a GPU: its
/// memory cannot be reached from the host, every transfer and launch is counted and can be made to fail, and its bits
/// are those of `cpu`. `reference` is the float64 oracle: slow straight loops that share no code with the kernels.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  friend bool operator==(Device, Device) = default;
};

inline constexpr Device cpu{DeviceKind::cpu};
inline constexpr Device reference_device{DeviceKind::reference};
inline constexpr Device simulated{DeviceKind::simulated};

/// "cpu", "reference" or "simulated".
std::string to_string(Device device);

/// The device of that name. Errors: XFER-8 for a name that this build does not have, with the names that it has.
///
///     Device device = parse_device("reference");
Device parse_device(const std::string& name);

/// One line of `assay devices`.
struct DeviceDescription {
  std::string name;
  bool usable;
  std::string detail;  ///< what it is; why not, where it cannot be used
};

/// Every device that Assay knows of, usable or not.
std::vector<DeviceDescription> describe_devices();

}  // namespace assay
