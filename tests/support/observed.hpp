// What a caller can see of parameters and an optimiser: compared before and after a call that must change nothing.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "conformance/observed.hpp"
#include "support/tensors.hpp"

namespace assay::test {

using conformance::bits_of;
using conformance::Facts;
using conformance::facts_of;
using conformance::observe;
using conformance::Observed;

/// Fails naming each fact that is not as it was.
inline void check_unchanged(const Observed& before, const Observed& now, const std::string& after) {
  for (const std::string& change : conformance::changes(before, now)) BOOST_ERROR(after << ": " << change);
  BOOST_TEST(true);
}

/// As `expect_atomic_under_faults`, which fails the first action of that kind during `call`, then the second …. Returns
/// how many could fail.
template <class Call, class Observe>
int check_atomic_under_faults(Device device, DeviceAction action, Call&& call, Observe&& observe_now,
                              const std::string& what) {
  try {
    return static_cast<int>(conformance::expect_atomic_under_faults(device, action, call, observe_now));
  } catch (const conformance::Broken& broken) {
    BOOST_ERROR(what << ": " << broken.what());
    return 0;
  }
}

}  // namespace assay::test
