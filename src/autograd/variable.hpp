// Variable: a value in a graph, and the backward pass.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tensor/tensor.hpp"

namespace assay {

/// A value that operations can be applied to. A variable made from a tensor is data; `leaf` makes one that gathers a
/// gradient; operations make the rest. Copies of a variable are the same node of the graph.
///
/// Backward starts from one variable, computes in a context of its own, and changes the leaves only when the whole
/// pass has succeeded (GRAPH-3). Contributions to one variable are added in the order that `reference/numerics.md`
/// gives: consumers by descending creation, operands of one consumer ascending.
///
///     Variable w = Variable::leaf(Tensor::full({3}, 2));
///     Variable loss = sum(multiply(w, w));
///     loss.backward();
///     w.gradient().read<float>()[0];  // 4
class Variable {
 public:
  Variable() = default;
  Variable(Tensor data);  // NOLINT: data enters an operation as it is
  static Variable leaf(Tensor value);

  bool defined() const { return state_ != nullptr; }
  const Tensor& value() const;
  const Shape& shape() const { return value().shape(); }
  Device device() const { return value().device(); }
  bool requires_gradient() const;
  /// Whether no other variable and no graph holds this node.
  bool owns_node_alone() const { return state_.use_count() == 1; }

  /// Whether a backward pass reached this leaf since the gradient was last zeroed, even with zeros (LIFE-9).
  bool has_pending_gradient() const;
  /// The leaf's gradient; zeros of the value's shape when none is pending. Errors: GRAPH-7 when it gathers none.
  Tensor gradient() const;
  /// Replaces the pending gradient. Errors: GRAPH-7, or GRAPH-1 for another shape, type or device.
  void set_gradient(Tensor gradient);
  void zero_gradient();
  /// Puts another tensor of the same shape in a leaf's place and drops the gradient; graphs built before are stale.
  /// Errors: GRAPH-7 unless this is a leaf that gathers a gradient, ACC-4 for another shape.
  void replace_value(Tensor value);

  /// Adds d(this)/d(leaf) to every leaf that the graph reaches. Errors: GRAPH-1 when this is not one element, or
  /// requires no gradient; GRAPH-5 when an operand was written after its operation, naming operation and versions.
  void backward() const;
  /// The same with the gradient of some later loss by this variable as seed, of its shape and on its device.
  void backward(const Tensor& seed) const;

  bool operator==(const Variable&) const = default;

  struct State;  ///< the library's own

 private:
  std::shared_ptr<State> state_;
};

/// From the gradient of the loss by an operation's output to those by its inputs, one tensor a position. Positions
/// whose `needed` is false may be left undefined.
using Vjp = std::function<std::vector<Tensor>(const Tensor& upstream, const std::vector<bool>& needed)>;

/// An operation: `output` was computed from the values of `inputs`, and `vjp` is its gradient rule. Every operation of
/// the library is made with it. When no input requires a gradient, or inside a NoGradScope, the rule is dropped.
///
/// Errors: VJP-5 for an empty rule or no inputs. In the backward pass VJP-2 for a wrong count, shape, type or device of
/// the rule's results, before any is used.
///
///     Variable twice(const Variable& x) {
///       Tensor two = Tensor::full({}, 2, x.device());
///       return custom_gradient("twice", kernels::multiply(x.value(), two), {x},
///                              [two](const Tensor& g, const auto&) { return std::vector{kernels::multiply(g, two)};
///                              });
///     }
Variable custom_gradient(const char* operation, Tensor output, const std::vector<Variable>& inputs, Vjp vjp);

/// While one exists, this thread's operations record no gradient rule.
class NoGradScope {
 public:
  NoGradScope();
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

 private:
  bool before_;
};

/// While one exists, this thread evaluates instead of training: dropout and the like pass values through and draw
/// nothing (MODE-1, MODE-2).
class EvalScope {
 public:
  EvalScope();
  ~EvalScope();
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  bool before_;
};

/// While one exists, this thread checks what every operation computes, forward and backward: the first result that is
/// NaN or infinite is refused with the operation and the element, counted row-major (GRAPH-14). It reads every result,
/// so it costs time; without it such values follow IEEE 754 silently.
///
///     AnomalyScope check;
///     log(x);  // GRAPH-14: log: expected finite results, found -inf at element 2 of [3]
class AnomalyScope {
 public:
  AnomalyScope();
  ~AnomalyScope();
  AnomalyScope(const AnomalyScope&) = delete;
  AnomalyScope& operator=(const AnomalyScope&) = delete;

 private:
  bool before_;
};

/// Whether this thread trains; true until an EvalScope says otherwise.
bool training();

}  // namespace assay
