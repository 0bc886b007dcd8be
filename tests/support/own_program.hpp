// This program, started again: another process with another environment.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

namespace assay::test {

/// What the case `name` of this program prints, its messages and errors included, in a process of its own with
/// `settings` in its environment ("ASSAY_ISA=avx2 ASSAY_THREADS=2").
inline std::string printed_by(const std::string& name, const std::string& settings) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      settings + " '" + program + "' --run_test=" + name + " --log_level=message --report_level=no 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  BOOST_REQUIRE_MESSAGE(pipe, "cannot start " << program);
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

}  // namespace assay::test
