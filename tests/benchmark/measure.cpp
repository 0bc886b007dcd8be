// Clocks, rounds, and the check that both sides compute the same.
#include "benchmark/measure.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/cpu/thread_pool.hpp"

namespace assay::benchmark {
namespace {

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double waited() {
  double nanoseconds = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "schedstat");
    double ran = 0, waiting = 0;
    if (file >> ran >> waiting) nanoseconds += waiting;
  }
  return 1e-9 * nanoseconds;
}

std::int64_t calls_that_last(double seconds, const Side& side) {
  if (side.before) side.before();
  time_of(1, side.call, side.finish);
  for (std::int64_t calls = 1;;) {
    const double took = time_of(calls, side.call, side.finish).wall;
    if (took >= seconds) return calls;
    // At most tenfold, because a short measurement says little; a tenth more than needed, because times vary.
    calls = std::max(calls + 1, static_cast<std::int64_t>(static_cast<double>(calls) *
                                                          std::min(10.0, 1.1 * seconds / std::max(took, 1e-9))));
  }
}

}  // namespace

Time time_of(std::int64_t calls, const std::function<void()>& call, const std::function<void()>& finish) {
  const double before = waited(), wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  for (std::int64_t i = 0; i < calls; ++i) call();
  if (finish) finish();
  const Time time{now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu, 0};
  return {time.wall, time.cpu, waited() - before};
}

void measure(const Options& options, const Case& one) {
  struct Measured {
    const char* name;
    const Side& side;
    std::int64_t calls;
    std::vector<double> wall = {}, cpu = {}, waited = {};
  };
  const std::int64_t our_calls = calls_that_last(options.seconds, one.ours);
  std::vector<Measured> all = {{"ours", one.ours, our_calls}};
  if (one.peer.call) all.push_back({"peer", one.peer, calls_that_last(options.seconds, one.peer)});
  all.push_back({"control", one.ours, our_calls});
  // The threads of a peer may spin for a while after their work, on the processors that ours need next.
  const bool several_threads = one.several_threads || threads() > 1;
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t place = 0; place < all.size(); ++place) {
      Measured& next = all[round % 2 == 0 ? place : all.size() - 1 - place];
      if (several_threads) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (next.side.before) next.side.before();
      const Time time = time_of(next.calls, next.side.call, next.side.finish);
      next.wall.push_back(time.wall / static_cast<double>(next.calls));
      next.cpu.push_back(time.cpu / static_cast<double>(next.calls));
      next.waited.push_back(time.waited / static_cast<double>(next.calls));
    }
  nlohmann::json line = {{"case", one.name}, {"unit", one.unit}, {"against", one.against}, {"work", one.work}};
  line["clock"] = several_threads || one.on_gpu ? "wall" : "cpu";
  for (const Measured& measured : all)
    line[measured.name] = {{"wall", measured.wall}, {"cpu", measured.cpu}, {"waited", measured.waited}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

void say(const std::map<std::string, std::string>& facts) {
  std::printf("%s\n", nlohmann::json{{"provenance", facts}}.dump().c_str());
  std::fflush(stdout);
}

void require_close(const std::string& name, const Tensor& a, const Tensor& b, double tolerance) {
  const auto ours = a.read<float>(), theirs = b.read<float>();
  for (std::int64_t i = 0; i < ours.size(); ++i) {
    const double x = static_cast<double>(ours[i]), y = static_cast<double>(theirs[i]);
    if (!(std::abs(x - y) <= tolerance * (1 + std::abs(y))) || !std::isfinite(x))
      throw std::runtime_error(name + ": element " + std::to_string(i) + " is " + std::to_string(x) +
                               ", the peer's is " + std::to_string(y));
  }
}

Tensor uniform(const Shape& shape, float low, float high) {
  std::minstd_rand generator(7);
  Tensor tensor = Tensor::uninitialised(shape);
  float* values = tensor.write_view<float>().data;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    const float unit = static_cast<float>(generator()) / static_cast<float>(std::minstd_rand::max());
    values[i] = low + (high - low) * unit;
  }
  return tensor;
}

}  // namespace assay::benchmark
