// Worker threads that wait for one parallel loop after the other.
#include "device/cpu/thread_pool.hpp"

#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "device/cpu/float_environment.hpp"

namespace assay {
namespace {

thread_local bool inside_loop = false;

// Pauses of some tens of microseconds in all, in which a loop often follows on the last one. Waking a sleeping thread
// takes as long as a small kernel.
constexpr int pauses_before_sleep = 1000;

class ThreadPool {
 public:
  ThreadPool() {
    const char* wanted = std::getenv("ASSAY_THREADS");
    if (!wanted) return;
    char* end = nullptr;
    long count = std::strtol(wanted, &end, 10);
    if (*wanted == '\0' || *end != '\0') count = 0;
    resize(count, "ASSAY_THREADS", wanted);
  }
  ~ThreadPool() { stop(); }

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  void resize(long count, const char* source, const std::string& found) {
    if (count < 1 || count > 1024) throw Error("NUM-1", source, "1 to 1024 threads", found);
    require_default_float_environment(source);  // the workers inherit it
    stop();
    stopping_ = false;
    pauses_ = count <= static_cast<long>(std::thread::hardware_concurrency()) ? pauses_before_sleep : 0;
    for (int index = 1; index < count; ++index) workers_.emplace_back([this, index] { work(index); });
  }

  void run(std::int64_t count, std::int64_t grain, void (*work)(void*, std::int64_t, std::int64_t), void* context) {
    std::int64_t most = std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, grain));
    std::unique_lock<std::mutex> only_loop(loop_, std::defer_lock);
    if (most == 1 || workers_.empty() || inside_loop || !only_loop.try_lock()) {
      work(context, 0, count);
      return;
    }
    task_ = {count, std::min<std::int64_t>(most, size()), work, context, sabotaged("workers_train") ? 0 : thread_modes};
    unfinished_ = workers_.size();
    {
      std::lock_guard<std::mutex> lock(mutex_);  // no worker is between its last look and its sleep
      ++generation_;
    }
    start_.notify_all();
    run_part(task_, 0);
    wait(done_, [this] { return unfinished_ == 0; });
  }

 private:
  struct Task {
    std::int64_t count = 0, parts = 0;
    void (*work)(void*, std::int64_t, std::int64_t) = nullptr;
    void* context = nullptr;
    std::uint32_t modes = 0;  // of the caller
  };

  static void run_part(const Task& task, std::int64_t part) {
    if (part >= task.parts) return;
    inside_loop = true;
    task.work(task.context, part * task.count / task.parts,
              (part + 1) * task.count / task.parts - (task.parts > 1 && sabotaged("parts_end_early")));
    inside_loop = false;
  }

  template <class Condition>
  void wait(std::condition_variable& changed, Condition holds) {
    for (int i = 0; i < pauses_ && !holds(); ++i) _mm_pause();
    if (holds()) return;
    std::unique_lock<std::mutex> lock(mutex_);
    changed.wait(lock, holds);
  }

  void work(int index) {
    if (sabotaged("workers_flush_subnormals")) _mm_setcsr(0x9fc0);
    for (std::uint64_t seen = 0;; ++seen) {
      wait(start_, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      thread_modes = task_.modes;
      run_part(task_, index);  // the task stays until all workers are done with it
      if (--unfinished_ > 0) continue;
      std::lock_guard<std::mutex> lock(mutex_);
      done_.notify_one();
    }
  }

  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    start_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    generation_ = 0;
  }

  std::vector<std::thread> workers_;
  std::mutex loop_, mutex_;
  std::condition_variable start_, done_;
  Task task_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<std::size_t> unfinished_ = 0;
  std::atomic<bool> stopping_ = false;
  int pauses_ = 0;
};

ThreadPool& pool() {
  static ThreadPool instance;
  return instance;
}

}  // namespace

int threads() { return pool().size(); }

void set_threads(int count) { pool().resize(count, "set_threads", std::to_string(count)); }

void detail::parallel(std::int64_t count, std::int64_t grain, void (*work)(void*, std::int64_t, std::int64_t),
                      void* context) {
  if (count > 0) pool().run(count, grain, work, context);
}

}  // namespace assay
