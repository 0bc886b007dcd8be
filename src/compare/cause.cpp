// The hypotheses, and trying them one by one.
#include "compare/cause.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "checkpoint/trace_name.hpp"
#include "kernels/digest.hpp"
#include "numerics/hypothesis.hpp"

namespace assay {
namespace {

/// What an operation shares with its other results: those of its gradient rule, or all of an update.
std::string operation_of(const std::string& name) {
  TraceName parsed = TraceName::parse(name);
  if (parsed.phase == "optimiser" || parsed.phase == "parameters") return "update";
  if (parsed.operation == "table") return parsed.phase;
  parsed.operand = -1;
  return parsed.text();
}

/// One step with one operation changed.
class Trial {
 public:
  Trial(const Replay& replay, const ReplayedStep& exact, std::size_t target, std::uint64_t recorded)
      : replay_(replay), exact_(exact), target_(target), first_(target), recorded_(recorded) {
    const std::string operation = operation_of(exact.results[target].name);
    while (first_ > 0 && operation_of(exact.results[first_ - 1].name) == operation) --first_;
  }

  /// Under a scope that exists while the operation is computed.
  template <class Scope, class... Arguments>
  std::optional<Array> under(const Arguments&... arguments) const {
    std::optional<Scope> scope;
    if (first_ == 0) scope.emplace(arguments...);
    return compute(replay_.exact(), replay_.before(), [&](std::size_t index) {
      if (index + 1 == first_) scope.emplace(arguments...);
      if (index == target_) scope.reset();
    });
  }
  /// From another state before the step, or as another configuration says. What the step computes before the operation
  /// is as it was.
  std::optional<Array> from(const Checkpoint& state) const { return compute(replay_.exact(), state); }
  std::optional<Array> with(const Configuration& configuration) const {
    return compute(configuration, replay_.before());
  }

 private:
  std::optional<Array> compute(const Configuration& configuration, const Checkpoint& state,
                               const std::function<void(std::size_t)>& at = {}) const {
    std::optional<Array> found;
    replay_.compute(configuration, state, [&](std::size_t index, const std::string&, const Tensor& value) {
      if (at) at(index);
      if (index < first_) force(value, exact_.results[index]);
      if (index < target_) return true;
      if (kernels::digest(value) == recorded_) found = array_of(value);
      return false;
    });
    return found;
  }

  static void force(const Tensor& value, const ReplayedResult& result) {
    if (kernels::digest(value) == result.digest) return;  // a view of what was written already is left alone
    Tensor(value).write(result.value.values<float>());
  }

  const Replay& replay_;
  const ReplayedStep& exact_;
  std::size_t target_, first_;
  std::uint64_t recorded_;
};

std::vector<Arithmetic> hypotheses() {
  using Order = Arithmetic::Order;
  using Operands = Arithmetic::Operands;
  std::vector<Arithmetic> orders = {
      {}, {.order = Order::serial}, {.order = Order::reversed}, {.order = Order::pairwise}};
  for (const int width : {2, 4, 8, 16, 32, 64, 128}) orders.push_back({.order = Order::lanes, .width = width});
  for (const int width : {8, 16, 32, 64, 128, 256, 1024}) orders.push_back({.order = Order::blocks, .width = width});
  for (const int width : {2, 3, 4, 8, 16}) orders.push_back({.order = Order::parts, .width = width});
  std::vector<Arithmetic> all;
  const auto add = [&](Arithmetic arithmetic) { all.push_back(arithmetic); };
  add({.contracted = true});
  add({.fused = false});
  add({.flush = true});
  add({.libm = true});
  add({.wide = true});
  for (const Operands operands : {Operands::tf32, Operands::tf32_away, Operands::tf32_truncated, Operands::bf16})
    for (const bool wide : {false, true}) add({.wide = wide, .operands = operands});
  for (const bool fused : {true, false})
    for (Arithmetic arithmetic : orders) {
      arithmetic.fused = fused;
      if (arithmetic.order != Order::exact) add(arithmetic);
    }
  return all;
}

/// Sums of the shards' gradients in orders other than the tree.
std::optional<Cause> other_shard_order(const ReplayedStep& exact, const TraceName& name, std::uint64_t recorded) {
  std::vector<std::vector<float>> shards;
  for (TraceName part{"gradients", name.module, "shard"};; ++part.shard) {
    const auto place = exact.find(part.text());
    if (!place) break;
    shards.push_back(exact.results[*place].value.values<float>());
  }
  for (const bool descending : {false, true}) {
    std::vector<float> sum = shards[descending ? shards.size() - 1 : 0];
    for (std::size_t i = 1; i < shards.size(); ++i) {
      const std::vector<float>& next = shards[descending ? shards.size() - 1 - i : i];
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = sum[k] + next[k];
    }
    const auto place = exact.find(name.text());
    const Array value = Array::of(std::span<const float>(sum), exact.results[*place].value.shape);
    if (kernels::digest(Tensor::from(sum, Shape(value.shape))) == recorded)
      return Cause{
          std::string("other summation order: shards added one by one, ") + (descending ? "descending" : "ascending"),
          value};
  }
  return std::nullopt;
}

/// Rows that the operation did not write, of memory as the operating system gives it.
std::optional<Cause> unwritten(const Array& value, std::uint64_t recorded) {
  if (value.type != ElementType::float32 || value.shape.empty() || value.bytes.empty()) return std::nullopt;
  const std::size_t rows = static_cast<std::size_t>(value.shape[0]), row = value.bytes.size() / 4 / rows;
  const auto zeros = [&](const std::string& what, std::size_t begin, std::size_t end) -> std::optional<Cause> {
    std::vector<float> elements = value.values<float>();
    std::fill(elements.begin() + static_cast<std::ptrdiff_t>(begin),
              elements.begin() + static_cast<std::ptrdiff_t>(end), 0.0f);
    if (kernels::digest(Tensor::from(elements, Shape(value.shape))) != recorded) return std::nullopt;
    return Cause{"uninitialised memory: " + what + " not written, and zeros",
                 Array::of(std::span<const float>(elements), value.shape)};
  };
  if (auto cause = zeros("all of it is", 0, rows * row)) return cause;
  if (auto cause = zeros("its last element is", rows * row - 1, rows * row)) return cause;
  for (std::size_t i = 0; i < rows; ++i)
    if (auto cause = zeros("its last " + std::to_string(rows - i) + " rows are", i * row, rows * row)) return cause;
  return std::nullopt;
}

}  // namespace

std::optional<Cause> find_cause(const Replay& replay, const ReplayedStep& exact, const std::string& name,
                                std::uint64_t recorded) {
  const auto target = exact.find(name);
  if (!target) return std::nullopt;
  const Trial trial(replay, exact, *target, recorded);
  const TraceName parsed = TraceName::parse(name);
  if (parsed.operation == "sum_of_shards")
    if (auto cause = other_shard_order(exact, parsed, recorded)) return cause;

  if (auto cause = unwritten(exact.results[*target].value, recorded)) return cause;
  if (auto value = trial.with(replay.elsewhere("cpu", "fast")))
    return Cause{"numerics fast: matrix products by Eigen, exp and the like by libm", *value};

  for (const Arithmetic& arithmetic : hypotheses()) {
    if (arithmetic.contracted && !__builtin_cpu_supports("fma")) continue;
    if (auto value = trial.under<ArithmeticScope>(arithmetic)) return Cause{to_string(arithmetic), *value};
  }

  for (std::size_t i = 0; i < replay.before().parameters.size() && replay.earlier(); ++i) {
    Checkpoint stale = replay.before();
    stale.parameters[i].value = replay.earlier()->parameters[i].value;
    if (auto value = trial.from(stale))
      return Cause{"stale operand: " + stale.parameters[i].name + " of step " + std::to_string(replay.step() - 2) +
                       ", before the last update",
                   *value};
  }
  for (std::size_t i = 0; i < replay.before().random_draws.size(); ++i)
    for (const int shift : {1, -1, 2, -2}) {
      Checkpoint drawn = replay.before();
      if (shift < 0 && drawn.random_draws[i] < static_cast<std::uint64_t>(-shift)) continue;
      drawn.random_draws[i] += static_cast<std::uint64_t>(static_cast<std::int64_t>(shift));
      if (auto value = trial.from(drawn))
        return Cause{"other mask: draw " + std::to_string(drawn.random_draws[i]) + " of the stream " +
                         drawn.random_streams[i] + " instead of " + std::to_string(replay.before().random_draws[i]),
                     *value};
    }
  return std::nullopt;
}

}  // namespace assay
