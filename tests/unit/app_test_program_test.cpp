// The verdicts that `assay contracts` reads from a test program.
#include "app/test_program.hpp"

#include <boost/test/unit_test.hpp>

#include "app/program.hpp"
#include "support/tensors.hpp"

BOOST_AUTO_TEST_SUITE(app_test_program)

using namespace assay;

BOOST_AUTO_TEST_CASE(RUN_6_a_case_whose_program_did_not_run_it_has_failed) {
  const app::TemporaryFolder folder;
  const app::Case entry{"cpu/RES_1_a_promise", "RES-1", "cpu", "a promise"};
  auto verdicts = app::run_cases("/bin/false", {entry}, folder, "", {});
  BOOST_REQUIRE(verdicts.size() == 1u);
  BOOST_TEST(verdicts[entry.path].verdict == "fail");
  BOOST_TEST(verdicts[entry.path].message == "not run: the program ended with status 1");
}

BOOST_AUTO_TEST_CASE(RUN_6_a_program_that_cannot_be_started_or_lists_no_case_is_refused) {
  const app::TemporaryFolder folder;
  test::check_refused([&] { app::all_cases("/nowhere/tests", folder); }, "RUN-6", "/nowhere/tests");
  test::check_refused([&] { app::all_cases("/bin/echo", folder); }, "RUN-6", "found none: --list_content");
  test::check_refused([&] { app::run_program({"/nowhere"}, {}, folder.file("log"), 10); }, "RUN-6", "/nowhere");
}

BOOST_AUTO_TEST_SUITE_END()
