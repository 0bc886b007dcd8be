// Checkpointed segments: the first computation, and the second one in the backward pass.
#include "autograd/checkpoint.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "autograd/graph.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "numerics/random.hpp"

namespace assay {
namespace {

using State = Variable::State;

/// Sets what the thread's scopes have set, and puts it back.
class ModesScope {
 public:
  ModesScope(bool recording, bool training) : before_(modes()) {
    modes() = (before_ & ~(no_recording | evaluating)) | (recording ? 0 : no_recording) | (training ? 0 : evaluating);
  }
  ~ModesScope() { modes() = before_; }
  ModesScope(const ModesScope&) = delete;
  ModesScope& operator=(const ModesScope&) = delete;

 private:
  std::uint32_t before_;
};

std::vector<bool> require_dependencies(const std::vector<Variable>& dependencies) {
  std::vector<bool> needed;
  for (auto at = dependencies.begin(); at != dependencies.end(); ++at) {
    const std::string which = std::to_string(at - dependencies.begin());
    if (!at->defined()) throw Error("CKPT-2", "checkpoint", "a value for dependency " + which, "none");
    auto other = std::find(dependencies.begin(), at, *at);
    if (other != at && !sabotaged("dependency_twice"))
      throw Error("CKPT-2", "checkpoint", "each dependency once",
                  "dependency " + std::to_string(other - dependencies.begin()) + " again as dependency " + which);
    needed.push_back(at->requires_gradient());
  }
  return needed;
}

/// What the second computation needs to be the first one again.
struct Recorded {
  Segment segment;
  std::vector<DrawScope::Entry> draws;
  std::vector<bool> needed, used;
  bool training;
};

Variable replay(Recorded& recorded, const std::vector<Variable>& dependencies, const Tensor& result) {
  ModesScope state(true, recorded.training);
  SegmentScope scope(dependencies, recorded.needed, SegmentScope::Mode::replay);
  DrawScope draws(recorded.draws, DrawScope::Mode::replay);
  Variable again = recorded.segment(dependencies);
  draws.require_finished();
  if (scope.used() != recorded.used && !sabotaged("replay_uses_other_dependencies"))
    throw Error("CKPT-4", "replay of a segment", "the dependencies that it used before", "others");
  if (!alike(again.value(), result) && !sabotaged("replay_of_any_shape"))
    throw Error("CKPT-4", "replay of a segment", kind_of(result), kind_of(again.value()));
  if (!again.requires_gradient() || !scope.made_here(again))
    throw Error("CKPT-4", "replay of a segment", "a result that it computed of its dependencies", "another variable");
  return again;
}

}  // namespace

SegmentScope::SegmentScope(const std::vector<Variable>& dependencies, std::vector<bool> needed, Mode mode)
    : needed_(std::move(needed)),
      used_(dependencies.size()),
      mode_(mode),
      first_number_(State().number),
      outer_(std::exchange(current_segment(), this)) {
  for (std::size_t i = 0; i < dependencies.size(); ++i) positions_[&State::of(dependencies[i])] = i;
}

SegmentScope::~SegmentScope() { current_segment() = outer_; }

void SegmentScope::admit(const char* operation, const std::vector<Variable>& inputs, std::vector<bool>& needed) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    const State& state = State::of(inputs[i]);
    auto declared = positions_.find(&state);
    if (declared != positions_.end()) {
      used_[declared->second] = true;
      needed[i] = needed_[declared->second];
      continue;
    }
    const bool foreign = !made_here(inputs[i]);
    if (needed[i] && (foreign || state.is_leaf()) && !sabotaged("captures_are_not_refused"))
      throw Error(mode_ == Mode::first ? "CKPT-2" : "CKPT-4", std::string(operation) + " in a checkpointed segment",
                  "a declared dependency, or what was computed of them, at position " + std::to_string(i),
                  std::string(foreign ? "a captured variable " : "a new leaf ") + to_string(state.value.shape()));
    if (!foreign && !state.is_leaf()) continue;
    for (SegmentScope* scope = this; scope; scope = scope->outer_) {
      auto same = [&](const Data& data) { return data.value.shares_storage_with(state.value); };
      if (scope->mode_ == Mode::first && std::none_of(scope->data_.begin(), scope->data_.end(), same))
        scope->data_.push_back({state.value, state.value.version()});
    }
  }
}

std::vector<SegmentScope::Data> SegmentScope::captured_data() {
  // What the segment made itself, as masks and constants, nobody else holds any more.
  std::erase_if(data_, [](const Data& data) { return data.value.owns_storage_alone(); });
  return std::move(data_);
}

Variable checkpoint(Segment segment, const std::vector<Variable>& dependencies) {
  if (!segment) throw Error("CKPT-2", "checkpoint", "a segment", "an empty function");
  std::vector<bool> needed = require_dependencies(dependencies);
  if (sabotaged("segment_is_not_checkpointed")) return segment(dependencies);
  if (SegmentScope* outer = current_segment()) outer->admit("checkpoint", dependencies, needed);

  auto recorded = std::make_shared<Recorded>(Recorded{std::move(segment), {}, needed, {}, training()});
  std::vector<SegmentScope::Data> data;
  Variable result;
  DrawScope draws(recorded->draws, DrawScope::Mode::record);
  try {
    ModesScope state(false, training());
    SegmentScope scope(dependencies, needed, SegmentScope::Mode::first);
    result = recorded->segment(dependencies);
    if (std::find(dependencies.begin(), dependencies.end(), result) != dependencies.end()) return result;
    if (result.requires_gradient())
      throw Error("CKPT-2", "checkpoint", "a result that was computed of the dependencies",
                  "another variable " + to_string(result.shape()) + " that requires a gradient");
    data = scope.captured_data();
    recorded->used = scope.used();
  } catch (...) {
    if (!sabotaged("refused_segment_keeps_its_draws")) DrawScope::take_back(recorded->draws);
    throw;
  }

  for (std::size_t i = 0; i < needed.size(); ++i) needed[i] = needed[i] && recorded->used[i];
  if ((modes() & no_recording) || std::find(needed.begin(), needed.end(), true) == needed.end()) return result;
  Variable node(result.value());
  State& state = State::of(node);
  std::vector<Variable> operands = dependencies;
  for (const SegmentScope::Data& captured : data) operands.push_back(captured.value);
  needed.resize(operands.size());
  state.record("checkpoint", operands, needed);
  for (std::size_t i = 0; i < data.size(); ++i) state.operands[dependencies.size() + i].version = data[i].version;
  state.dependencies = dependencies.size();
  state.replay = [recorded](const std::vector<Variable>& again, const Tensor& before) {
    return replay(*recorded, again, before);
  };
  return node;
}

}  // namespace assay
