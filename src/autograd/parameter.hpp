// Parameter: a leaf with an identity; handles and lists of parameters, and their transfer between devices.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.hpp"

namespace assay {

class ParameterHandle;

/// A trainable value. What it holds is shared state with one identity: moving a Parameter keeps it, copying is not
/// possible, and a ParameterHandle keeps it alive when the Parameter is gone (LIFE).
///
/// A parameter that was moved from holds nothing; every use but destruction and assignment is refused (LIFE-1). One
/// that a module registered, or that a handle points to, is never emptied: moving from it makes a second wrapper of its
/// state.
///
///     Parameter weight(Tensor::zeros({10, 784}));
///     Variable y = matmul(x, transpose(weight.variable(), 0, 1));
class Parameter {
 public:
  explicit Parameter(Tensor value);
  Parameter(Parameter&& other) noexcept;
  /// Errors: LIFE-4 when this one is registered in a module or belongs to a handle, and `other` has another state.
  Parameter& operator=(Parameter&& other);
  ~Parameter() = default;

  const Tensor& value() const;
  /// What operations take: the leaf, or, while the parameter is frozen, its value as data.
  const Variable& variable() const;
  Tensor gradient() const;
  bool has_pending_gradient() const;

  /// Writes a value of the same shape, type and device and drops the gradient (LIFE-7). (To change elements and keep
  /// the gradient, copy the handle `value()` and use `edit` on it.) Errors: ACC-4 for another shape, type or device,
  /// ACC-9 for a tensor without a value.
  void set_value(const Tensor& value);
  /// Puts another tensor of the same shape, perhaps on another device, in the value's place and drops the gradient.
  void replace_value(Tensor value);
  void set_gradient(Tensor gradient);
  /// Drops the gradient; the value and its version stay (LIFE-8).
  void zero_gradient();

  /// From now on graphs take the value as data: no gradient is computed for it and optimisers refuse it unless they are
  /// told to skip it. Graphs from before keep what they were, and a pending gradient stays (LIFE-11).
  void freeze();
  void unfreeze();
  bool frozen() const;

  ParameterHandle handle() const;
  /// Registered, its wrappers cannot be assigned another state; a module calls it.
  void mark_registered(bool registered);
  /// Who holds this parameter besides this wrapper and `handles` handles, in words: handles, lists, optimisers and
  /// other wrappers, a variable or a graph, a tensor that shares its value. Empty when nobody does. Of use while not
  /// frozen.
  std::string other_holders(long handles) const;

 private:
  friend class ParameterHandle;
  struct State;
  explicit Parameter(State* borrowed);
  State& state() const;
  std::shared_ptr<State> shared_state() const;
  bool stays_bound() const;

  std::shared_ptr<State> state_;
};

/// Shared ownership of one parameter's state; equal exactly when the state is one (LIFE-3).
class ParameterHandle {
 public:
  ParameterHandle() = default;
  /// Errors: LIFE-2 for a handle of nothing.
  Parameter& operator*() const;
  Parameter* operator->() const { return &**this; }
  /// The same address for all handles of one state, valid as long as anybody holds the state; null for a handle of
  /// nothing.
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

/// Refuses a list with an empty or repeated name, a null or a parameter that appears twice, naming `operation`.
void require_valid(const ParameterList& list, const std::string& operation, const char* id = "OPT-1");

/// A move of many values to one device as one transaction: whatever is added or staged is copied there at once, and put
/// in place only by `commit`, which cannot fail. A transfer that ends without commit has changed nothing (XFER-2).
///
/// What is on the device already stays untouched. A moved parameter loses its gradient and makes older graphs stale.
/// Errors of `add` and `stage`: those of the device, such as RES-6 for memory that it does not have.
///
///     Transfer transfer(device);
///     transfer.add(weight.handle());
///     transfer.stage(codes);  // a Tensor
///     transfer.commit();
class Transfer {
 public:
  explicit Transfer(Device device) : device_(device) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  Device device() const { return device_; }
  void add(const ParameterHandle& parameter);
  /// A value that is no parameter. `tensor` must live until the commit, which assigns it; an undefined one is passed
  /// over. It gets storage of its own on the device, also when it was a view.
  void stage(Tensor& tensor);
  void commit() noexcept;

 private:
  Tensor prepared(const Tensor& value) const;

  Device device_;
  std::vector<std::pair<ParameterHandle, Tensor>> parameters_;
  std::vector<std::pair<Tensor*, Tensor>> staged_;
};

/// Moves every parameter to a device in one transaction. Errors: OPT-1 as `require_valid`; whatever fails, nothing has
/// moved (XFER-2, XFER-11).
void move_parameters_to(const ParameterList& list, Device device);

}  // namespace assay
