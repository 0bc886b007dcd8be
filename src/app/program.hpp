// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

namespace assay::app {

/// How a program ended: its exit status, the signal that ended it, or that it took too long and was stopped.
struct Ending {
  int status = 0, signal = 0;
  bool timed_out = false;
};

/// Runs `arguments[0]` with the environment of this process and `settings` ("NAME=value") and waits for it, at most
/// `seconds`. Standard output and error go into `log`. Errors: RUN-6 when it cannot be started.
///
///     Ending ending = run_program({"/usr/bin/true"}, {}, "/tmp/log", 10);
Ending run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& settings,
                   const std::string& log, int seconds);

/// The folder of the running executable.
std::string folder_of_this_program();

}  // namespace assay::app
