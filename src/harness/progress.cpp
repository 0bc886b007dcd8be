// Progress lines with rate and time left.
#include "harness/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace assay {

Progress::Progress(std::uint64_t total, std::uint64_t done)
    : terminal_(isatty(STDERR_FILENO)), total_(total), first_(done), start_(Clock::now()), next_(start_) {
  if (!terminal_) next_ += std::chrono::seconds(10);
}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', stderr);
}

void Progress::show(std::uint64_t step, const std::string& what) {
  Clock::time_point now = Clock::now();
  if (now < next_ && !(terminal_ && step == total_)) return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10));

  double elapsed = std::chrono::duration<double>(now - start_).count();
  double rate = elapsed > 0 ? static_cast<double>(step - first_) / elapsed : 0;
  long left = rate > 0 ? static_cast<long>(static_cast<double>(total_ - step) / rate + 0.5) : 0;
  std::fprintf(stderr, "%sstep %llu/%llu  %3llu %%  %s  %.0f steps/s  %ld:%02ld left%s", terminal_ ? "\r" : "",
               static_cast<unsigned long long>(step), static_cast<unsigned long long>(total_),
               static_cast<unsigned long long>(total_ ? 100 * step / total_ : 100), what.c_str(), rate, left / 60,
               left % 60, terminal_ ? "\x1b[K" : "\n");
  drawn_ = terminal_;
}

void Progress::say(const std::string& line) {
  std::fprintf(stderr, "%s%s%s\n", drawn_ ? "\r" : "", line.c_str(), terminal_ ? "\x1b[K" : "");
  drawn_ = false;
}

}  // namespace assay
