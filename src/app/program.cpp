// A child process with a limit of time.
#include "app/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.hpp"

namespace assay::app {

Ending run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& settings,
                   const std::string& log, int seconds) {
  std::vector<char*> words, environment;
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  for (const std::string& setting : settings) environment.push_back(const_cast<char*>(setting.c_str()));
  for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0], &files, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw Error("RUN-6", "starting " + arguments[0], "a program that runs", std::strerror(error));

  using Clock = std::chrono::steady_clock;
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  Ending ending;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (!ending.timed_out && Clock::now() > limit) {
      ending.timed_out = true;
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (WIFEXITED(status)) ending.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  return ending;
}

std::string folder_of_this_program() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

}  // namespace assay::app
