// The verdict of each test case, written as it ends: what `assay contracts` reads.
#pragma once

#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <string>

namespace assay::test {

/// With `-- --verdicts FILE` on the command line, writes one line when a case starts, "start PATH", and one when it
/// ends, "pass PATH SECONDS", "fail …" or "skip …". Each line is flushed, so a program that dies tells where. With
/// `--until-failure` behind it the program ends at the first failed case.
class Verdicts final : public boost::unit_test::test_observer {
 public:
  Verdicts() {
    auto& master = boost::unit_test::framework::master_test_suite();
    for (int i = 1; i + 1 < master.argc; ++i)
      if (std::strcmp(master.argv[i], "--verdicts") == 0) file_.open(master.argv[i + 1]);
    until_failure_ = std::strcmp(master.argv[master.argc - 1], "--until-failure") == 0;
    if (file_.is_open()) boost::unit_test::framework::register_observer(*this);
  }
  ~Verdicts() override {
    if (file_.is_open()) boost::unit_test::framework::deregister_observer(*this);
  }

  void test_unit_start(const boost::unit_test::test_unit& unit) override {
    if (unit.p_type == boost::unit_test::TUT_CASE) file_ << "start " << path(unit) << std::endl;
  }
  void test_unit_finish(const boost::unit_test::test_unit& unit, unsigned long microseconds) override {
    if (unit.p_type != boost::unit_test::TUT_CASE) return;
    const auto& results = boost::unit_test::results_collector.results(unit.p_id);
    const char* verdict = results.p_skipped ? "skip" : results.passed() ? "pass" : "fail";
    file_ << verdict << ' ' << path(unit) << ' ' << std::fixed << std::setprecision(6)
          << static_cast<double>(microseconds) * 1e-6 << std::endl;
    if (until_failure_ && std::strcmp(verdict, "fail") == 0) std::_Exit(1);
  }

 private:
  static std::string path(const boost::unit_test::test_unit& unit) { return unit.full_name(); }

  std::ofstream file_;
  bool until_failure_ = false;
};

}  // namespace assay::test
