// check_operation: what every operation and gradient rule promises, checked for one of the caller's own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/gradcheck.hpp"
#include "conformance/verdict.hpp"

namespace assay::conformance {

using Operation = std::function<Variable(const std::vector<Variable>&)>;

/// The operation, and what to call it with.
struct OperationCase {
  std::string name;
  /// Computes on whatever device the inputs are on, `reference` included; other tensors that it uses are made for it.
  Operation compute;
  /// On the cpu, small, of distinct extents, away from kinks. Those of real numbers are differentiated by.
  std::vector<Tensor> inputs;
  /// How far value and gradients may be from the float64 reference, in units in the last place of the largest element.
  double ulps = 4;
  /// Inputs whose first axis counts examples that do not meet: row i of the result depends on row i of them only.
  std::vector<std::size_t> batched = {};
  /// Elements of inputs whose gradient is zero by algebra.
  std::vector<ZeroGradient> zeros = {};
};

/// Leaves of the inputs that are of real numbers, the others as data.
std::vector<Variable> leaves_of(const std::vector<Tensor>& inputs);
/// The backward pass of Σ result·weight, the weights drawn and different.
void differentiate(const Variable& result);

/// A value, and what `differentiate` gives for each input; undefined for inputs that are data.
struct Outcome {
  Tensor value;
  std::vector<Tensor> gradients;
};
Outcome outcome(const Operation& operation, const std::vector<Tensor>& inputs);

/// Where two outcomes first differ in a bit; "" where they do not.
std::string difference(const Outcome& expected, const Outcome& found);

/// Checks on every device: VJP-1, VJP-2, VJP-6, GRAPH-3, GRAPH-4, GRAPH-5, GRAPH-12, GRAPH-13, MODE-1, RES-6, RES-8,
/// RES-10, NUM-1, NUM-8, CHECK-1, and NUM-3 where inputs are batched. Throws nothing.
///
///     auto verdicts = check_operation({.name = "gate",
///                                          .compute = [](const auto& x) { return gate(x[0], x[1]); },
///                                          .inputs = {drawn({4, 3}, 1), drawn({4, 3}, 2)},
///                                          .batched = {0, 1}});
std::vector<Verdict> check_operation(const OperationCase& subject);

}  // namespace assay::conformance
