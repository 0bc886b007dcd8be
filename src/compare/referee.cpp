// One operation in float64, its bound, and the distances from it.
#include "compare/referee.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/sabotage.hpp"
#include "checkpoint/trace_name.hpp"
#include "compare/values.hpp"
#include "kernels/digest.hpp"

namespace assay {
namespace {

constexpr double unit_roundoff = 0x1p-24;

using Change = std::function<double(double)>;

Array changed(const Array& array, const Change& change) {
  if (array.type != ElementType::float32 && array.type != ElementType::float64) return array;
  std::vector<double> values = widen(array);
  for (double& value : values) value = change(value);
  return Array::of(std::span<const double>(values), array.shape);
}

/// The result in float64 when every operand, of the state and of what the step computed before, is changed first.
std::vector<double> computed(const Replay& replay, const ReplayedStep& exact, std::size_t target,
                             const Change& change) {
  Checkpoint state = replay.before();
  for (StoredParameter& parameter : state.parameters) parameter.value = changed(parameter.value, change);
  for (NamedArray& tensor : state.optimiser_arrays) tensor.array = changed(tensor.array, change);
  std::vector<double> result;
  const Replay changed_replay = replay.on_inputs(change);
  changed_replay.compute(replay.elsewhere("reference", "exact"), state,
                         [&](std::size_t index, const std::string&, const Tensor& value) {
                           if (index == target) {
                             const auto values = value.read<double>();
                             result.assign(values.begin(), values.end());
                             return false;
                           }
                           const std::vector<double> forced = widen(changed(exact.results[index].value, change));
                           const auto values = value.read<double>();
                           if (!std::equal(forced.begin(), forced.end(), values.begin())) Tensor(value).write(forced);
                           return true;
                         });
  return result;
}

/// Whether rounding is bounded by the sizes of the operands. Attention's is not: exp of |q|·|k| says nothing about its
/// weights, while its result, a mean of values, has their size.
bool is_sum(const TraceName& name) {
  static const std::set<std::string> sums = {"linear", "matmul",     "sum",          "add",     "multiply",
                                             "divide", "maximum",    "relu",         "dropout", "embedding",
                                             "mean",   "accumulate", "sum_of_shards"};
  return sums.count(name.operation) > 0;
}

struct Bound {
  std::vector<double> of_element;
  std::string text;
};

Bound bound_of(const Replay& replay, const ReplayedStep& exact, std::size_t target, const std::vector<double>& y) {
  Bound bound;
  bound.of_element.resize(y.size());
  if (is_sum(TraceName::parse(exact.results[target].name))) {
    const std::vector<double> size = computed(replay, exact, target, [](double x) { return std::fabs(x); });
    const std::vector<double> terms = computed(replay, exact, target, [](double x) { return x == 0 ? 0.0 : 1.0; });
    for (std::size_t i = 0; i < y.size(); ++i)
      bound.of_element[i] = (std::fabs(terms[i]) + 1) * unit_roundoff * std::fabs(size[i]);
    bound.text = "(n + 1) u times the sum of the terms' sizes";
    return bound;
  }
  double largest = 0, row = 1;
  for (const double value : y) largest = std::max(largest, std::fabs(value));
  for (const std::size_t at : {target, target == 0 ? target : target - 1})
    for (const std::int64_t extent : exact.results[at].value.shape) row = std::max(row, static_cast<double>(extent));
  for (std::size_t i = 0; i < y.size(); ++i)
    bound.of_element[i] = (row + 16) * unit_roundoff * (std::fabs(y[i]) + largest);
  bound.text = "(n + 16) u times the size of the result";
  return bound;
}

Judged judged(const Array* values, const std::vector<double>& y, const std::vector<double>& bound) {
  Judged side;
  if (!values) return side;
  side.known = true;
  const std::vector<double> x = widen(*values);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = std::fabs(x[i] - y[i]);
    if (error == 0) continue;
    // A NaN on one side alone is further off than any number.
    const bool wild = !(error <= std::numeric_limits<double>::max()) && !(std::isnan(x[i]) && std::isnan(y[i]));
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(y[i] == 0 ? 0x1p-126 : y[i]), -126) - 23);
    const double infinity = std::numeric_limits<double>::infinity();
    side.ulps = std::max(side.ulps, wild ? infinity : error / ulp);
    side.of_bound = std::max(side.of_bound, wild || bound[i] == 0 ? infinity : error / bound[i]);
  }
  return side;
}

}  // namespace

Referee judge(const Replay& replay, const ReplayedStep& exact, const std::string& name, const Array* a,
              const Array* b) {
  Referee referee;
  referee.verdict = "unknown";
  const auto target = exact.find(name);
  if (!target) return referee;
  const std::vector<double> y = computed(replay, exact, *target, [](double x) { return x; });
  const Bound bound = bound_of(replay, exact, *target, y);
  referee.bound = bound.text;
  referee.a = judged(a, y, bound.of_element);
  referee.b = judged(b, y, bound.of_element);
  if (!referee.a.known || !referee.b.known) return referee;
  if (sabotaged("referee_takes_the_other_side")) std::swap(referee.a, referee.b);
  referee.verdict = referee.a.within() ? (referee.b.within() ? "both within bound" : "B")
                                       : (referee.b.within() ? "A" : "both outside");
  return referee;
}

}  // namespace assay
