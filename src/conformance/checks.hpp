// How the checks of this folder reach verdicts: what is expected, and the list of what was found.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "conformance/tensors.hpp"
#include "conformance/verdict.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/simulated/simt.hpp"

namespace assay::conformance {

/// What a check throws where a promise is broken.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void expect(bool condition, const std::string& otherwise) {
  if (!condition) throw Broken(otherwise);
}

/// Expects an Error of that id whose message contains `fragment`.
template <class Call>
void expect_refused(Call&& call, const std::string& id, const std::string& what, const std::string& fragment = "") {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    expect(error.id() == id && message.find(fragment) != std::string::npos,
           what + " was to be refused by " + id + " with \"" + fragment + "\" and was by \"" + message + "\"");
    return;
  }
  throw Broken(what + " was not refused");
}

/// Expects no `difference`.
template <class Value>
void expect_same(const Value& expected, const Value& found, const std::string& what) {
  const std::string text = difference(expected, found);
  expect(text.empty(), what + ": " + text);
}

/// Calls check(order) with the lanes of kernels running in one order after another, `order` saying which.
template <class Check>
void in_any_order_of_lanes(Check&& check) {
  check("lanes in ascending order");
  {
    const simt::LaneOrderScope scope(simt::LaneOrder::descending);
    check("lanes in descending order");
  }
  for (std::uint64_t seed : {1, 2, 3}) {
    const simt::LaneOrderScope scope(simt::LaneOrder::shuffled, seed);
    check("lanes in a shuffled order");
  }
}

/// While one exists kernels run on that many threads.
class ThreadsScope {
 public:
  explicit ThreadsScope(int count) : before_(threads()) { set_threads(count); }
  ~ThreadsScope() { set_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  int before_;
};

/// Gathers verdicts of one subject.
class Checks {
 public:
  explicit Checks(std::string subject) : subject_(std::move(subject)) {}

  /// The promise holds when `check` returns; whatever it throws is what was seen instead.
  void add(Device device, const char* id, const char* promise, const std::function<void()>& check) {
    Verdict verdict{subject_, id, promise, device, true, ""};
    try {
      check();
    } catch (const std::exception& error) {
      verdict.holds = false;
      verdict.message = error.what();
    } catch (...) {
      verdict.holds = false;
      verdict.message = "something was thrown that is no std::exception";
    }
    verdicts_.push_back(std::move(verdict));
  }
  std::vector<Verdict> verdicts() && { return std::move(verdicts_); }

 private:
  std::string subject_;
  std::vector<Verdict> verdicts_;
};

}  // namespace assay::conformance
