// Names, digests and copies of what a step computes.
#include "harness/step_trace.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/digest.hpp"

namespace assay {
namespace {

/// Digests that one download brings while it is not known how many there are.
constexpr std::int64_t usual_slots = 256;

}  // namespace

TraceLevel parse_trace_level(const std::string& name) {
  if (name == "none") return TraceLevel::none;
  if (name == "step") return TraceLevel::step;
  if (name == "module") return TraceLevel::module;
  if (name == "op") return TraceLevel::op;
  throw Error("RUN-1", "trace.level", "one of none, step, module, op", "\"" + name + "\"");
}

StepTrace::StepTrace(Device device, TraceLevel level, const std::vector<std::string>& kept, std::size_t expected,
                     const StepObserver& observer)
    : device_(device),
      level_(level),
      kept_(kept),
      observer_(observer),
      slots_(expected > 0 ? static_cast<std::int64_t>(expected) : usual_slots) {
  if (level >= TraceLevel::module || observer) scope_.emplace([this](const TracedResult& result) { add(result); });
}

void StepTrace::tell(const std::string& table, const std::string& column, const Tensor& value) const {
  if (observer_) observer_(TraceName{table, column, "table"}.text(), value);
}

void StepTrace::add(const TracedResult& result) {
  TraceName name{result.phase, result.module, result.operation, result.operand, shard_};
  name.occurrence = ++occurrences_[name.text()];
  const std::string text = name.text();
  if (observer_) observer_(text, result.value);
  if (level_ == TraceLevel::op) record(text, result.value);
  if (level_ != TraceLevel::module || result.operand > 0) return;
  // The last result of a module; backward that is the gradient by the first operand of its first operation.
  if (name.phase != waiting_.phase || name.module != waiting_.module || name.shard != waiting_.shard) record_waiting();
  waiting_ = std::move(name);
  waiting_value_ = result.value;
}

void StepTrace::record_waiting() {
  if (waiting_value_.defined()) record(waiting_.text(), waiting_value_);
  waiting_value_ = {};
}

void StepTrace::record(const std::string& name, const Tensor& value) {
  const auto slot = static_cast<std::int64_t>(names_.size()) % slots_;
  if (slot == 0) records_.emplace_back(device_, slots_);
  kernels::digest(value, records_.back().slot(slot));
  names_.push_back(name);
  if (std::find(kept_.begin(), kept_.end(), name) != kept_.end()) tensors_.push_back({name, array_of(value)});
}

void StepTrace::finish(StepRow& row) {
  record_waiting();
  for (const std::string& name : kept_)
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
      std::string all;
      for (const std::string& known : names_) all += (all.empty() ? "" : ", ") + known;
      throw Error("RUN-1", "trace.tensors", "results of a step: " + all, "\"" + name + "\"");
    }
  for (std::size_t i = 0; i < names_.size(); ++i)
    row.trace.push_back(records_[i / static_cast<std::size_t>(slots_)].bits(static_cast<std::int64_t>(i) % slots_));
  row.trace_names = std::move(names_);
  row.tensors = std::move(tensors_);
}

Array array_of(const Tensor& tensor) {
  return with_type(tensor.dtype(), [&](auto zero) -> Array {
    using T = decltype(zero);
    return Array::of(tensor.read<T>().span(), tensor.shape().extents());
  });
}

}  // namespace assay
