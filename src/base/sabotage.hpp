// Saboteurs: deliberate breaks, one for each promise, that show that the promise's test can fail.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace assay {

/// A break that a test build can switch on: which contract ids must then go red, and what it breaks.
struct Saboteur {
  std::string_view name, ids, breaks;
};

inline constexpr Saboteur saboteurs[] = {
    {"count_access_forgets", "ACC-10", "downloads are not counted by call site"},
    {"lease_discard_commits", "ACC-2", "discarding a lease installs what it holds"},
    {"lease_not_counted", "ACC-2", "a lease that ends without commit or discard is not noticed"},
    {"second_lease_allowed", "ACC-2", "a tensor can be leased twice"},
    {"snapshot_shares_memory", "ACC-1", "a write changes the snapshots of before"},
    {"snapshot_not_kept", "ACC-1", "each read downloads again"},
    {"stale_mirror", "ACC-1 ACC-3 ACC-5 ACC-6", "a read serves the copy of before a write"},
    {"version_stays", "ACC-5", "a write does not raise the version"},
    {"empty_is_undefined", "ACC-9", "a tensor without elements counts as one without a value"},
    {"gradient_once_per_reference", "GRAPH-2 GRAPH-10", "a leaf used twice gets the contribution of one use"},
    {"accumulation_forgets", "GRAPH-4", "a backward pass replaces the pending gradient"},
    {"producer_counts_twice", "RES-4", "an operation is recorded as run twice"},
    {"generations_ignored", "RES-2 RES-8", "a buffer whose memory was taken back is used all the same"},
    {"gradient_dies_with_its_pass", "RES-8", "a gradient stays in the pass that computed it"},
    {"failed_launch_counts_as_written", "RES-6", "the version rises before the launch has succeeded"},
    {"freed_memory_is_lost", "RES-10 XFER-10", "memory that nobody holds is not given back"},
    {"outside_counts_as_a_pass", "RES-9", "a thread that had a pass allocates from its pool also between passes"},
    {"host_reads_device_memory", "RES-1", "device pointers of the simulated device can be followed"},
    {"inner_pass_frees", "RES-8 RES-9", "an inner pass frees what the outer one holds"},
    {"liveness_by_the_wrong_pool", "RES-3 RES-8", "a buffer of a pass is judged by the persistent pool's generation"},
};

/// A name of the list above, checked when the site is compiled.
class SabotageSite {
 public:
  consteval SabotageSite(const char* name) : number_(0) {  // NOLINT: a site is written as its name
    while (saboteurs[number_].name != name) ++number_;     // past the end: no such saboteur, does not compile
  }
  constexpr std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

#ifdef ASSAY_SABOTAGE
/// Whether this saboteur is at work: the one that the environment variable ASSAY_SABOTEUR names.
///
///     if (!sabotaged("accumulation_forgets")) total = kernels::add(gradient, total);
bool sabotaged(SabotageSite site);
#else
constexpr bool sabotaged(SabotageSite) { return false; }
#endif

}  // namespace assay
