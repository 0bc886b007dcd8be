// Progress: how far long work is, on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace assay {

/// A line that is redrawn a few times a second on a terminal; elsewhere a plain line every ten seconds.
///
///     Progress progress(steps, done);
///     progress.show(step, "loss 0.412");  // "step 412/860  48 %  loss 0.412  903 steps/s  0:01 left"
class Progress {
 public:
  Progress(std::uint64_t total, std::uint64_t done);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t step, const std::string& what);
  /// A whole line that stays; the progress line continues below it.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  std::uint64_t total_, first_;
  Clock::time_point start_, next_;
  bool drawn_ = false;
};

}  // namespace assay
