// Interleaved measurements: what is timed, and the samples of each round that scripts/benchmark.py judges.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "tensor/tensor.hpp"

namespace assay::benchmark {

struct Options {
  int rounds = 11;
  double seconds = 0.02;    ///< that one measurement lasts at least
  std::int64_t floats = 0;  ///< in one operand of an addition that is far larger than the caches
  std::string wanted = "";  ///< only cases whose name holds it
};

/// What is timed, what goes ahead of each measurement outside of its time, and what ends it inside of its time.
struct Side {
  std::function<void()> call;
  std::function<void()> before = {};
  std::function<void()> finish = {};
};

struct Case {
  std::string name, unit, against;
  double work;                   ///< of one call of either side: floating-point operations, bytes, elements or steps
  Side ours, peer;               ///< a peer without a call is left out, and `against` says why
  bool several_threads = false;  ///< whatever `threads()` says
  bool on_gpu = false;           ///< the clock of the process does not see it
};

/// In seconds, of the whole process, so that no thread works unseen.
struct Time {
  double wall, cpu, waited;  ///< `waited`: all threads together, ready to run but without a processor
};

Time time_of(std::int64_t calls, const std::function<void()>& call, const std::function<void()>& finish = {});

inline bool is_wanted(const Options& options, const std::string& name) {
  return name.find(options.wanted) != std::string::npos;
}

/// Measures ours, the peer and ours again in each round, every second round backwards, and prints the seconds per call
/// of all rounds as one line of JSON.
void measure(const Options& options, const Case& one);

/// Prints what the peer is, for the record of the comparison.
void say(const std::map<std::string, std::string>& facts);

/// Throws when some |a − b| is above `tolerance`·(1 + |b|) or not finite: what is timed is not the same then.
void require_close(const std::string& name, const Tensor& a, const Tensor& b, double tolerance);

/// Uniform in [low, high), the same in each run.
Tensor uniform(const Shape& shape, float low, float high);

/// Row-major.
template <class T>
View<T> view_of(T* data, std::initializer_list<std::int64_t> extents) {
  View<T> view{data, static_cast<int>(extents.size()), {}, {}};
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    view.extent[axis] = extents.begin()[axis];
    view.stride[axis] = stride;
    stride *= view.extent[axis];
  }
  return view;
}

template <class T>
View<T> transposed(View<T> matrix) {
  std::swap(matrix.extent[0], matrix.extent[1]);
  std::swap(matrix.stride[0], matrix.stride[1]);
  return matrix;
}

void gemm(const Options& options);
void elementwise(const Options& options);
void price(const Options& options);
/// Errors: XFER-8 where no GPU can be used.
void cuda(const Options& options);
/// Reads numbers from standard input, takes so many training steps of a model (see `workload_of`) with the trace of
/// that level, and prints their time and the last loss.
void serve_train_steps(const std::string& model, const std::string& level);

}  // namespace assay::benchmark
