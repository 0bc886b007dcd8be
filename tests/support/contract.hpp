// CONTRACT: a test case that runs once on every device that computes in 32 bits.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "conformance/verdict.hpp"

namespace assay::test {

/// Registers `body` as the case `name` in the suite of each device: "cpu/XFER_2_a_failed_allocation_…".
inline bool add_contract(const char* name, void (*body)(Device), const char* file, std::size_t line) {
  namespace unit_test = boost::unit_test;
  for (Device device : conformance::devices()) {
    std::string suite_name = to_string(device);
    unit_test::test_suite& master = unit_test::framework::master_test_suite();
    unit_test::test_unit_id id = master.get(suite_name);
    unit_test::test_suite* suite;
    if (id == unit_test::INV_TEST_UNIT_ID) {
      suite = BOOST_TEST_SUITE(suite_name);
      master.add(suite);
    } else {
      suite = &unit_test::framework::get<unit_test::test_suite>(id);
    }
    suite->add(unit_test::make_test_case([body, device] { body(device); }, name, file, line));
  }
  return true;
}

}  // namespace assay::test

/// A promise, named by its id and stated as a sentence, with `device` in reach. A row that has nothing to do with a
/// device is a BOOST_AUTO_TEST_CASE that is named in the same way.
///
///     CONTRACT(XFER_5_values_survive_a_round_trip_bit_for_bit) { Tensor x = drawn({3}, 1, -1, 1, device); … }
#define CONTRACT(name)                                                                                           \
  static void name(assay::Device device);                                                                        \
  [[maybe_unused]] static const bool name##_added = assay::test::add_contract(#name, &name, __FILE__, __LINE__); \
  static void name([[maybe_unused]] assay::Device device)
