// Trace: every result of an operation, told as it is computed.
#pragma once

#include <functional>
#include <string>

#include "tensor/tensor.hpp"

namespace assay {

/// One result: of an operation, forward; of its gradient rule, backward, one for each operand that needs a gradient.
/// Where a variable has several consumers, the sum so far is a result too: operation "accumulate", and `operand` counts
/// among those of the consumer.
struct TracedResult {
  const char* phase;          ///< "forward" or "backward"
  const std::string& module;  ///< dotted path of the module that called the operation, "" for none
  const char* operation;
  int operand;  ///< backward: the gradient is by this one, from 0; forward: −1
  const Tensor& value;
};

using TraceObserver = std::function<void(const TracedResult&)>;

/// While one exists, this thread's operations tell it what they compute, in the order in which they compute it, before
/// anything else uses the result. An observer may write into the value: what follows goes on from there. The second
/// computation of a checkpointed segment is told only where it is differentiated.
///
///     TraceScope trace([&](const TracedResult& result) { digests.push_back(kernels::digest(result.value)); });
///     Variable loss = cross_entropy(model.forward(x), labels);
///     loss.backward();
class TraceScope {
 public:
  explicit TraceScope(TraceObserver observer);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  /// Whether this thread has one.
  static bool active();
  /// Tells the innermost one of this thread, if there is one.
  static void tell(const TracedResult& result);

 private:
  TraceObserver observer_;
  TraceScope* outer_;
};

/// While one exists, the operations of this thread are traced as that module's. Modules have `ForwardScope` for it.
class ModuleNameScope {
 public:
  explicit ModuleNameScope(std::string path);
  ~ModuleNameScope();
  ModuleNameScope(const ModuleNameScope&) = delete;
  ModuleNameScope& operator=(const ModuleNameScope&) = delete;

  /// The innermost of this thread; "" for none.
  static const std::string& current();

 private:
  std::string path_;
  const ModuleNameScope* outer_;
};

}  // namespace assay
