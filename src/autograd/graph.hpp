// The graph behind variables: for the sources of this folder alone, and not installed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/variable.hpp"

namespace assay {

/// What a checkpointed segment does in the backward pass: computes its result again, recorded this time.
using Replay = std::function<Variable(const std::vector<Variable>& dependencies, const Tensor& result)>;

struct Variable::State {
  /// An operand as it was when the operation ran.
  struct Operand {
    Variable variable;
    Tensor value;
    std::uint64_t version;
    bool needed;
  };

  State();
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static State& of(const Variable& variable) { return *variable.state_; }

  bool is_leaf() const { return operands.empty(); }
  /// The operation and its operands; `needed` says which of them require a gradient.
  void record(const char* name, const std::vector<Variable>& inputs, const std::vector<bool>& needed);
  /// Errors: GRAPH-5, CKPT-3 of a segment.
  void require_unchanged() const;
  void require_leaf(const char* call) const;

  const char* operation = "leaf";
  std::string module;  // that called the operation; known while there is a trace
  std::uint64_t number;
  Tensor value;
  std::uint64_t version = 0;
  bool requires_gradient = false;
  std::vector<Operand> operands;
  Vjp vjp;        // of an operation
  Replay replay;  // of a segment, whose first `dependencies` operands it is given; the others are data that it used
  std::size_t dependencies = 0;
  Tensor gradient;  // of a leaf; undefined while none is pending
};

/// While one exists, this thread computes a checkpointed segment, which may use nothing that requires a gradient but
/// its dependencies and what it makes of them.
class SegmentScope {
 public:
  enum class Mode { first, replay };
  /// `needed` says which dependencies the segment's graph is to differentiate by.
  SegmentScope(const std::vector<Variable>& dependencies, std::vector<bool> needed, Mode mode);
  ~SegmentScope();
  SegmentScope(const SegmentScope&) = delete;
  SegmentScope& operator=(const SegmentScope&) = delete;

  Mode mode() const { return mode_; }
  /// Checks the inputs of an operation, and sets in `needed` what the segment says of its dependencies.
  void admit(const char* operation, const std::vector<Variable>& inputs, std::vector<bool>& needed);
  /// Whether the variable is made by the segment itself.
  bool made_here(const Variable& variable) const { return Variable::State::of(variable).number >= first_number_; }

  /// Which dependencies were inputs of an operation.
  const std::vector<bool>& used() const { return used_; }
  /// Data from outside the segment that the first computation used, and its version then.
  struct Data {
    Tensor value;
    std::uint64_t version;
  };
  std::vector<Data> captured_data();

 private:
  std::unordered_map<const Variable::State*, std::size_t> positions_;  // only looked up
  std::vector<bool> needed_, used_;
  std::vector<Data> data_;
  Mode mode_;
  std::uint64_t first_number_;
  SegmentScope* outer_;
};

/// What the scopes of a thread have set: bits of `thread_modes`, which the workers of its parallel loops share.
inline constexpr std::uint32_t no_recording = 1, evaluating = 2, checking_anomalies = 4;
std::uint32_t& modes();
/// The segment that this thread computes, or null.
SegmentScope*& current_segment();

/// Refuses a tensor that is not finite, naming the first element that is not (GRAPH-14).
void require_finite(const std::string& operation, const Tensor& tensor);

/// Of one shape, type and device; and these in words.
bool alike(const Tensor& a, const Tensor& b);
std::string kind_of(const Tensor& tensor);

}  // namespace assay
