// Verdict: whether something of the caller's own keeps one promise of the manual.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"

namespace assay::conformance {

/// What one check found. The checks return these and throw nothing, so any test framework can report them.
///
///     for (const Verdict& verdict : check_operation(gate)) BOOST_TEST(verdict.holds, text_of(verdict));
struct Verdict {
  std::string subject;  ///< the name under which it was checked
  std::string id;       ///< a row of `reference/contracts/` or of `reference/numerics.md`
  std::string promise;  ///< that row, said of the subject
  Device device;
  bool holds;
  std::string message;  ///< what was seen instead; empty when it holds
};

/// "gate on cpu: GRAPH-12: strided inputs give the bits of contiguous ones: …"
std::string text_of(const Verdict& verdict);

/// The devices that everything is checked on: all that compute in 32 bits, cuda where a GPU is usable. Starts it, so it
/// is called after main has begun.
const std::vector<Device>& devices();

/// The next of them, to move to.
Device other_than(Device device);

}  // namespace assay::conformance
