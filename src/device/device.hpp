// Device: where a tensor's value lives and its kernels run.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace assay {

enum class DeviceKind { cpu, reference, simulated, cuda };
inline constexpr int device_kinds = 4;

/// Names a device. `cpu` computes in binary32 as `reference/numerics.md` says. `simulated` stands in for a GPU: its
/// memory cannot be reached from the host, every transfer and launch is counted and can be made to fail, and its bits
/// are those of `cpu`. `reference` is the float64 oracle: slow straight loops that share no code with the kernels.
/// `cuda` is one GPU of NVIDIA (reference/cuda.md).
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  friend bool operator==(Device, Device) = default;
};

inline constexpr Device cpu{DeviceKind::cpu};
inline constexpr Device reference_device{DeviceKind::reference};
inline constexpr Device simulated{DeviceKind::simulated};
inline constexpr Device cuda_device{DeviceKind::cuda};
/// Of every kind, in the order of the kinds, usable or not.
inline constexpr std::array<Device, device_kinds> all_devices{cpu, reference_device, simulated, cuda_device};

/// Whether this build has the kernels of `cuda_device`.
#ifdef ASSAY_CUDA
inline constexpr bool have_cuda = true;
#else
inline constexpr bool have_cuda = false;
#endif

/// "cpu", "reference", "simulated" or "cuda".
std::string to_string(Device device);

/// The device of that name. Errors: XFER-8 for a name that no device has, with the names, and as `require_usable`.
///
///     Device device = parse_device("reference");
Device parse_device(const std::string& name);

/// Errors: XFER-8 for a device that this build or this machine does not have, with the reason. Only `cuda_device` can
/// be one, and a first call of it starts the GPU.
void require_usable(Device device);

/// One line of `assay devices`.
struct DeviceDescription {
  std::string name;
  bool usable;
  std::string detail;  ///< what it is; why not, where it cannot be used
};

/// Every device that Assay knows of, usable or not, cuda last. Starts the GPU, if there is one.
std::vector<DeviceDescription> describe_devices();

}  // namespace assay
