// CONTRACT: a test case that runs once on every device that computes in 32 bits.
#pragma once

#include <boost/test/unit_test.hpp>
#include <vector>

#include "conformance/verdict.hpp"

namespace assay::test {

struct Contract {
  void (*body)(Device);
  const char *name, *file;
  std::size_t line;
};

inline std::vector<Contract>& contracts() {
  static std::vector<Contract> all;
  return all;
}

inline bool add_contract(Contract contract) {
  contracts().push_back(contract);
  return true;
}

/// Registers each contract in the suite of each device: "cpu/XFER_2_a_failed_allocation_…". To be called by main: a GPU
/// cannot be asked for earlier.
inline void register_contracts() {
  namespace unit_test = boost::unit_test;
  for (Device device : conformance::devices()) {
    unit_test::test_suite* suite = BOOST_TEST_SUITE(to_string(device));
    unit_test::framework::master_test_suite().add(suite);
    for (const auto& [body, name, file, line] : contracts())
      suite->add(unit_test::make_test_case([body = body, device] { body(device); }, name, file, line));
  }
}

}  // namespace assay::test

/// A promise, named by its id and stated as a sentence, with `device` in reach. A row that has nothing to do with a
/// device is a BOOST_AUTO_TEST_CASE that is named in the same way.
///
///     CONTRACT(XFER_5_values_survive_a_round_trip_bit_for_bit) { Tensor x = drawn({3}, 1, -1, 1, device); … }
#define CONTRACT(name)                                                                                             \
  static void name(assay::Device device);                                                                          \
  [[maybe_unused]] static const bool name##_added = assay::test::add_contract({&name, #name, __FILE__, __LINE__}); \
  static void name([[maybe_unused]] assay::Device device)
