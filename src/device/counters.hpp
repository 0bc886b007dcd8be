// What happens on devices: counted always, by call site on demand, and made to fail on demand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/site.hpp"

namespace assay {

/// Counts since the program started, over all threads.
struct DeviceCounters {
  std::uint64_t live_bytes = 0;   ///< in buffers that somebody holds
  std::uint64_t peak_bytes = 0;   ///< the most that live_bytes was
  std::uint64_t allocations = 0;  ///< buffers made
  std::uint64_t requests = 0;     ///< of those, how many needed memory that the device did not hold yet
  std::uint64_t uploads = 0, uploaded_bytes = 0;
  std::uint64_t downloads = 0, downloaded_bytes = 0;
  std::uint64_t launches = 0;
};

/// The counters of one device.
///
///     auto before = device_counters(simulated).downloads;
DeviceCounters device_counters(Device device);

/// What a device can refuse to do.
enum class DeviceAction { allocation, copy, launch };

/// While one exists, the `nth` action of that kind on that device fails, counted from 1; all others succeed. A failure
/// is an Error RES-6. At most one at a time.
///
///     for (std::uint64_t nth = 1;; ++nth) {
///       FaultScope fault(simulated, DeviceAction::allocation, nth);
///       try { model.to(simulated); } catch (const Error&) {}
///       if (!fault.fired()) break;
///     }
class FaultScope {
 public:
  FaultScope(Device device, DeviceAction action, std::uint64_t nth);
  ~FaultScope();
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;
  /// Whether the action was reached, and so failed.
  bool fired() const;
};

enum class Access { read, write, allocation, upload, download, launch, node };

/// How often one place asked for one thing. A launch's place is the kernel, a node's the operation.
struct AccessRow {
  Access access;
  std::string file, function;
  int line;
  std::uint64_t count, bytes;
};

/// While one exists, accesses of all threads are counted by call site. At most one at a time.
///
///     AccessScope counts;
///     training.advance();
///     for (const AccessRow& row : counts.rows()) …
class AccessScope {
 public:
  AccessScope();
  ~AccessScope();
  AccessScope(const AccessScope&) = delete;
  AccessScope& operator=(const AccessScope&) = delete;
  /// Rows so far: by access, then by count, most first, then by place.
  std::vector<AccessRow> rows() const;
};

std::string to_string(Access access);

/// For the layers that act on devices: counts, and throws where a fault is due.
namespace device_log {
void allocation(Device device, std::size_t bytes, Site site);
void upload(Device device, std::size_t bytes, Site site);
void download(Device device, std::size_t bytes, Site site);
void launch(Device device, const char* kernel);
/// Accesses that no device takes part in; nothing fails here.
void access(Access access, Site site);
/// Live bytes and requests, which the memory itself knows of.
void held(Device device, std::int64_t bytes) noexcept;
void requested(Device device) noexcept;
}  // namespace device_log

}  // namespace assay
