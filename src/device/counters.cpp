// Counters, the table of call sites, and faults on demand.
#include "device/counters.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/cpu/float_environment.hpp"

namespace assay {
namespace {

struct Counts {
  std::atomic<std::uint64_t> live_bytes, peak_bytes, allocations, requests, uploads, uploaded_bytes, downloads,
      downloaded_bytes, launches;
};

Counts& counts(Device device) {
  static Counts all[device_kinds];
  return all[static_cast<int>(device.kind)];
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount = 1) {
  counter.fetch_add(amount, std::memory_order_relaxed);
}

std::atomic<std::int64_t> actions_until_fault{0};  // 0: no fault is due, or it has fired
DeviceKind fault_device{};
DeviceAction fault_action{};
std::atomic<bool> fault_armed{false};

bool is_due(Device device, DeviceAction action) {
  return fault_armed.load(std::memory_order_acquire) && device.kind == fault_device && action == fault_action &&
         actions_until_fault.fetch_sub(1) == 1;
}

[[noreturn]] void fail(const std::string& what, Device device) {
  throw Error("RES-6", what + " on " + to_string(device), "success", "a fault on demand");
}

using Place = std::tuple<Access, std::string_view, int, std::string_view>;  // file, line, function
struct Tally {
  std::uint64_t count = 0, bytes = 0;
};
std::atomic<bool> counting{false};
std::mutex table_mutex;
std::map<Place, Tally>& table() {
  static std::map<Place, Tally> rows;
  return rows;
}

void count(Access access, Site site, std::uint64_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(table_mutex);
  Tally& tally = table()[{access, site.file, site.line, site.function}];
  ++tally.count;
  tally.bytes += bytes;
}

}  // namespace

DeviceCounters device_counters(Device device) {
  Counts& c = counts(device);
  return {c.live_bytes,     c.peak_bytes, c.allocations,      c.requests, c.uploads,
          c.uploaded_bytes, c.downloads,  c.downloaded_bytes, c.launches};
}

FaultScope::FaultScope(Device device, DeviceAction action, std::uint64_t nth) {
  if (fault_armed) throw Error("RES-6", "FaultScope", "no other fault that is due", "one");
  fault_device = device.kind;
  fault_action = action;
  actions_until_fault = static_cast<std::int64_t>(nth);
  fault_armed.store(true, std::memory_order_release);
}
FaultScope::~FaultScope() { fault_armed = false; }
bool FaultScope::fired() const { return actions_until_fault <= 0; }

AccessScope::AccessScope() {
  std::lock_guard<std::mutex> lock(table_mutex);
  if (counting) throw Error("ACC-10", "AccessScope", "no other one", "one that is counting");
  table().clear();
  counting = true;
}
AccessScope::~AccessScope() { counting = false; }

std::vector<AccessRow> AccessScope::rows() const {
  std::lock_guard<std::mutex> lock(table_mutex);
  std::vector<AccessRow> rows;
  for (const auto& [place, tally] : table()) {
    const auto& [access, file, line, function] = place;
    rows.push_back({access, std::string(file), std::string(function), line, tally.count, tally.bytes});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const AccessRow& a, const AccessRow& b) {
    return std::tuple(a.access, b.count) < std::tuple(b.access, a.count);
  });
  return rows;
}

std::string to_string(Access access) {
  constexpr const char* names[] = {"read", "write", "allocation", "upload", "download", "launch", "node"};
  return names[static_cast<int>(access)];
}

namespace device_log {

void allocation(Device device, std::size_t bytes, Site site) {
  if (is_due(device, DeviceAction::allocation)) fail("allocation of " + std::to_string(bytes) + " bytes", device);
  add(counts(device).allocations);
  count(Access::allocation, site, bytes);
}

void upload(Device device, std::size_t bytes, Site site) {
  if (is_due(device, DeviceAction::copy)) fail("upload of " + std::to_string(bytes) + " bytes", device);
  add(counts(device).uploads);
  add(counts(device).uploaded_bytes, bytes);
  count(Access::upload, site, bytes);
}

void download(Device device, std::size_t bytes, Site site) {
  if (is_due(device, DeviceAction::copy)) fail("download of " + std::to_string(bytes) + " bytes", device);
  add(counts(device).downloads);
  add(counts(device).downloaded_bytes, bytes);
  if (!sabotaged("count_access_forgets")) count(Access::download, site, bytes);
}

void launch(Device device, const char* kernel) {
  require_default_float_environment(kernel);
  if (is_due(device, DeviceAction::launch)) fail("launch of " + std::string(kernel), device);
  add(counts(device).launches);
  count(Access::launch, {"", 0, kernel}, 0);
}

void access(Access access, Site site) { count(access, site, 0); }
void held(Device device, std::int64_t bytes) noexcept {
  Counts& c = counts(device);
  const auto amount = static_cast<std::uint64_t>(bytes);  // modulo 2⁶⁴, so a negative amount subtracts
  const std::uint64_t now = c.live_bytes.fetch_add(amount, std::memory_order_relaxed) + amount;
  for (std::uint64_t peak = c.peak_bytes.load(std::memory_order_relaxed); bytes > 0 && now > peak;)
    if (c.peak_bytes.compare_exchange_weak(peak, now, std::memory_order_relaxed)) break;
}
void requested(Device device) noexcept { add(counts(device).requests); }

}  // namespace device_log

}  // namespace assay
