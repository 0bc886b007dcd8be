// The entry of every test program.
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include "support/contract.hpp"
#include "support/verdicts.hpp"

using assay::test::Verdicts;
BOOST_TEST_GLOBAL_FIXTURE(Verdicts);

namespace {

bool add_cases() {
  boost::unit_test::framework::master_test_suite().p_name.value = "assay";
  assay::test::register_contracts();
  return true;
}

}  // namespace

int main(int argc, char** argv) { return boost::unit_test::unit_test_main(add_cases, argc, argv); }
