// Observed: all that a caller can see of parameters and an optimiser, compared around a call that must change nothing.
#pragma once

#include <string>
#include <vector>

#include "conformance/checks.hpp"
#include "device/counters.hpp"
#include "optim/optimiser.hpp"

namespace assay::conformance {

/// One line for each thing that can be seen.
using Facts = std::vector<std::string>;

/// Element type, shape, device and the bytes of every element.
std::string bits_of(const Tensor& tensor);

/// Names, order, devices, versions, flags, values and gradients of a list.
Facts facts_of(const ParameterList& list);
/// The same of leaves, named by their place.
Facts facts_of(const std::vector<Variable>& leaves);
/// The same of an optimiser's parameters, and all of its own state.
Facts facts_of(const Optimiser& optimiser);

/// The facts, and the bytes that each device holds.
struct Observed {
  Facts facts;
  std::vector<std::uint64_t> live_bytes;
};

/// What each device holds now.
std::vector<std::uint64_t> live_bytes();

/// What is seen of a list, of leaves or of an optimiser.
template <class Subject>
Observed observe(const Subject& subject) {
  return {facts_of(subject), live_bytes()};
}

/// Everything that is not as it was, a line each.
std::vector<std::string> changes(const Observed& before, const Observed& now);
void expect_unchanged(const Observed& before, const Observed& now, const std::string& after);

/// Fails the first action of that kind during `call`, then the second …, until `call` succeeds: each time it must throw
/// RES-6 and leave what `observe_now` sees. Returns how many actions could fail. Throws Broken.
///
///     expect_atomic_under_faults(simulated, DeviceAction::copy, [&] { model.to(simulated); },
///                                [&] { return observe(model.parameters()); });
template <class Call, class Observe>
std::uint64_t expect_atomic_under_faults(Device device, DeviceAction action, Call&& call, Observe&& observe_now) {
  constexpr std::uint64_t most = 100000;
  static constexpr const char* names[] = {"allocation", "copy", "launch"};
  for (std::uint64_t nth = 1; nth < most; ++nth) {
    const std::string what =
        std::string(names[static_cast<int>(action)]) + " " + std::to_string(nth) + " of " + to_string(device);
    const Observed before = observe_now();
    const FaultScope fault(device, action, nth);
    bool refused = false;
    try {
      call();
    } catch (const Error& error) {
      refused = true;
      expect(error.id() == "RES-6", what + " failed, and the call was refused as " + error.what());
    }
    expect(refused == fault.fired(), what + " failed, and the call did not");
    if (!refused) return nth - 1;
    expect_unchanged(before, observe_now(), what + " failed");
  }
  throw Broken("the call does not end");
}

}  // namespace assay::conformance
