// StepTrace: the digests of one step's results, by name.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autograd/trace.hpp"
#include "checkpoint/run_table.hpp"
#include "checkpoint/trace_name.hpp"
#include "kernels/record.hpp"

namespace assay {

/// What a run records of each step. `step`: the digests of its row. `module`: also, forward, the result with which the
/// computation leaves a module, and backward the gradient by what went into it. `op`: every result of an operation.
enum class TraceLevel { none, step, module, op };

/// Errors: RUN-1 for a name that is none of these.
TraceLevel parse_trace_level(const std::string& name);

/// Is told every result of a step by its name, before anything else uses it, and may write into the value.
using StepObserver = std::function<void(const std::string& name, const Tensor& value)>;

/// Gathers what a `TraceScope` tells of one step. A digest is computed where the value lives, when it is told, and all
/// of them are downloaded together.
///
///     StepTrace trace(device, TraceLevel::op, {"forward/fc1/linear"}, 0, {});
///     loss_of(model.forward(x)).backward();
///     trace.finish(row);
class StepTrace {
 public:
  /// `kept` are the names of results that are kept whole. `expected`: the digests of the step before; 0: not known.
  /// With an observer results have names at every level.
  StepTrace(Device device, TraceLevel level, const std::vector<std::string>& kept, std::size_t expected,
            const StepObserver& observer);

  /// Results from here on are of that shard.
  void begin_shard(std::size_t shard) { shard_ = shard; }
  /// Tells the observer alone what the tables of a run hold: column `column` of `table`.
  void tell(const std::string& table, const std::string& column, const Tensor& value) const;
  /// Puts names, digests and kept results into the row. Errors: RUN-1 for a name of `kept` that no result has.
  void finish(StepRow& row);

 private:
  void add(const TracedResult& result);
  void record(const std::string& name, const Tensor& value);
  void record_waiting();

  Device device_;
  TraceLevel level_;
  const std::vector<std::string>& kept_;
  const StepObserver& observer_;
  std::size_t shard_ = 0;
  std::int64_t slots_;  // of one record
  std::deque<kernels::Record> records_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> occurrences_;
  std::vector<NamedArray> tensors_;
  TraceName waiting_;  // at `module`: of a module that may not have ended yet
  Tensor waiting_value_;
  std::optional<TraceScope> scope_;
};

/// A copy of the elements on the host.
Array array_of(const Tensor& tensor);

}  // namespace assay
