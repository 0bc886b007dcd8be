// What a caller can see of parameters and an optimiser: compared before and after a call that must change nothing.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "autograd/parameter.hpp"
#include "device/counters.hpp"
#include "optim/optimiser.hpp"
#include "support/tensors.hpp"

namespace assay::test {

/// One line for each thing that can be seen.
using Facts = std::vector<std::string>;

/// The facts, and the bytes that each device holds.
struct Observed {
  Facts facts;
  std::vector<std::uint64_t> live_bytes;
};

inline std::string bits_of(const Tensor& tensor) {
  std::string text = std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape()) + " on " +
                     to_string(tensor.device()) + ":";
  with_type(tensor.dtype(), [&](auto zero) {
    for (auto element : tensor.read<decltype(zero)>()) {
      unsigned char bytes[sizeof element];
      std::memcpy(bytes, &element, sizeof element);
      text += ' ';
      for (unsigned char byte : bytes) text += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
    }
  });
  return text;
}

/// Names, order, devices, versions, flags, values and gradients of a list.
inline Facts facts_of(const ParameterList& list) {
  Facts facts;
  for (const NamedParameter& entry : list) {
    const Parameter& parameter = *entry.parameter;
    facts.push_back(entry.name + ", version " + std::to_string(parameter.value().version()) + ", " +
                    bits_of(parameter.value()));
    facts.push_back(entry.name + (parameter.has_pending_gradient() ? ", gradient " : ", no gradient pending ") +
                    bits_of(parameter.gradient()));
  }
  return facts;
}

/// The same of an optimiser's parameters, and all of its own state.
inline Facts facts_of(const Optimiser& optimiser) {
  Facts facts = facts_of(optimiser.parameters());
  OptimiserState state = optimiser.state();
  facts.push_back(state.kind + ", step " + std::to_string(state.step_count));
  for (const NamedTensor& entry : state.tensors)
    facts.push_back(entry.name + ", version " + std::to_string(entry.tensor.version()) + ", " + bits_of(entry.tensor));
  return facts;
}

/// What is seen of a list or an optimiser.
template <class Subject>
Observed observe(const Subject& subject) {
  Observed now{facts_of(subject), {}};
  for (Device device : devices()) now.live_bytes.push_back(device_counters(device).live_bytes);
  return now;
}

/// Fails naming each fact that is not as it was.
inline void check_unchanged(const Observed& before, const Observed& now, const std::string& after) {
  BOOST_REQUIRE_EQUAL(before.facts.size(), now.facts.size());
  for (std::size_t i = 0; i < before.facts.size(); ++i)
    BOOST_TEST(before.facts[i] == now.facts[i], after << ": was " << before.facts[i] << ", is " << now.facts[i]);
  for (std::size_t i = 0; i < before.live_bytes.size(); ++i)
    BOOST_TEST(before.live_bytes[i] == now.live_bytes[i], after << ": " << to_string(devices()[i]) << " held "
                                                                << before.live_bytes[i] << " bytes, holds "
                                                                << now.live_bytes[i]);
}

/// Fails the first action of that kind during `call`, then the second …, until `call` succeeds: each time it must throw
/// RES-6 and leave what `observe_now` sees. Returns how many actions could fail.
template <class Call, class Observe>
int check_atomic_under_faults(Device device, DeviceAction action, Call&& call, Observe&& observe_now,
                              const std::string& what) {
  for (int nth = 1;; ++nth) {
    Observed before = observe_now();
    FaultScope fault(device, action, static_cast<std::uint64_t>(nth));
    bool refused = false;
    try {
      call();
    } catch (const Error& error) {
      refused = true;
      BOOST_TEST(error.id() == "RES-6", what << ": " << error.what());
    }
    BOOST_TEST(refused == fault.fired(), what << ": failure " << nth << " was swallowed");
    if (!refused) return nth - 1;
    check_unchanged(before, observe_now(), what + ", failure " + std::to_string(nth));
  }
}

}  // namespace assay::test
