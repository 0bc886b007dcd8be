// Parameter: a leaf with an identity; handles and lists of parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autograd/variable.hpp"

namespace assay {

class ParameterHandle;

/// A trainable value. What it holds is shared state with one identity: moving a Parameter keeps it, copying is not
/// possible, and a ParameterHandle keeps it alive when the Parameter is gone (LIFE).
///
///     Parameter weight(Tensor::zeros({10, 784}));
///     Variable y = matmul(x, transpose(weight.variable(), 0, 1));
class Parameter {
 public:
  explicit Parameter(Tensor value);
  Parameter(Parameter&& other) noexcept;
  /// Errors: LIFE-4 when this one is registered in a module.
  Parameter& operator=(Parameter&& other);
  ~Parameter() = default;

  const Tensor& value() const { return variable().value(); }
  /// The leaf, for operations.
  const Variable& variable() const;
  Tensor gradient() const { return variable().gradient(); }
  bool has_pending_gradient() const { return variable().has_pending_gradient(); }

  /// Installs a value of the same shape and drops the gradient (LIFE-7). Errors: ACC-4 for another shape.
  void set_value(const Tensor& value);
  /// Puts another tensor of the same shape, perhaps on another device, in the value's place and drops the gradient.
  void replace_value(Tensor value);
  void set_gradient(Tensor gradient);
  void zero_gradient();
  ParameterHandle handle() const;
  /// From now on move assignment to this parameter is refused; a module calls it on registration.
  void mark_registered();

 private:
  friend class ParameterHandle;
  struct State;
  explicit Parameter(State* borrowed);

  std::shared_ptr<State> state_;
};

/// Shared ownership of one parameter's state; equal exactly when the state is one.
class ParameterHandle {
 public:
  ParameterHandle() = default;
  Parameter& operator*() const;
  Parameter* operator->() const { return &**this; }
  /// The same address for all handles of one state, valid as long as anybody holds the state.
  Parameter* get() const { return state_ ? &**this : nullptr; }
  friend bool operator==(const ParameterHandle&, const ParameterHandle&) = default;

 private:
  friend class Parameter;
  explicit ParameterHandle(std::shared_ptr<Parameter::State> state) : state_(std::move(state)) {}
  std::shared_ptr<Parameter::State> state_;
};

/// A parameter under its dotted name.
struct NamedParameter {
  std::string name;
  ParameterHandle parameter;
};

/// Parameters in a fixed order; owning, so it outlives the module that it came from.
using ParameterList = std::vector<NamedParameter>;

/// Refuses a list with an empty or repeated name, a null or a parameter that appears twice (OPT-1), naming `operation`.
void require_valid(const ParameterList& list, const std::string& operation);

/// Moves every parameter to a device in one transaction: all new values are prepared, then installed. A parameter that
/// is there already keeps its value and gradient; a moved one loses its gradient and makes older graphs stale.
/// Errors: OPT-1 as `require_valid`; whatever fails, nothing has moved (XFER-2).
void move_parameters_to(const ParameterList& list, Device device);

}  // namespace assay
