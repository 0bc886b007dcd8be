// Module: a tree of named parameters; ModuleList: repeated children.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/parameter.hpp"
#include "autograd/trace.hpp"
#include "base/sabotage.hpp"

namespace assay {

/// A second name of a parameter: `alias` where a module uses it, `owner` where it is registered, both dotted.
struct ParameterAlias {
  std::string alias, owner;
};

/// A part of a model: parameters and child modules under names, in the order of registration.
///
/// A derived class registers its members in its constructor and has a `forward` of its own type; only autograd
/// differentiates. The dotted names and the order of `parameters()` are those of files, optimisers and reports.
///
/// Guarantees: a tree — a name, a parameter and a module occur once (REG-4 to REG-9); a refused registration changes
/// nothing (REG-11); attaching a child seals its whole subtree (REG-10). Children are held by address and must outlive
/// the parent's use, or are shared with it (REG-18); a child that died is reported by name wherever an ancestor is
/// walked (REG-12). A tree may be as deep as memory allows: nothing here recurses, and of children that are shared no
/// destructor runs inside another's.
///
///     class Mlp final : public Module {
///      public:
///       explicit Mlp(const Random& random) : fc1_(784, 128, random["fc1"]), fc2_(128, 10, random["fc2"]) {
///         register_module("fc1", fc1_);
///         register_module("fc2", fc2_);
///       }
///       Variable forward(const Variable& x) const { return fc2_.forward(relu(fc1_.forward(x))); }
///      private:
///       Linear fc1_, fc2_;
///     };
class Module {
 public:
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  /// Depth first in registration order, names joined by '.'. Errors: REG-12 naming a child that was destroyed, ORD-4
  /// for a tree that was overwritten.
  ParameterList parameters() const;
  /// Scalars in all parameters. Errors: ORD-6 when they do not fit 63 bits.
  std::int64_t parameter_count() const;
  /// The ties of the tree in the order of `parameters()`, for files: a tied parameter is stored once, under its owner's
  /// name. Errors: REG-15 when the owner is not in this tree.
  std::vector<ParameterAlias> aliases() const;
  /// Every module below this one under its dotted name, in the order of `parameters()`. Errors as there.
  std::vector<std::pair<std::string, Module*>> modules() const;
  /// Moves the whole tree to a device, all or nothing (XFER): parameters, extra parameters and staged state. Values
  /// keep their bits on a round trip, gradients of moved parameters are dropped, graphs built before are refused from
  /// then on. Errors: as `parameters`; XFER-6 for extra parameters; the device's own.
  void to(Device device);
  /// The dotted name of this module in its tree; "" for the root.
  std::string path() const;

 protected:
  Module() = default;

  /// Errors, all before anything changes: REG-3 for a name that is empty or has a '.', REG-4 for one in use, REG-5 and
  /// REG-6 for a parameter that the tree has already, REG-10 once this module is attached, REG-12 when a module below
  /// was destroyed.
  void register_parameter(const std::string& name, Parameter& parameter);
  /// As above; REG-7 for a cycle, REG-8 for a child that has a parent, REG-9 for a common parameter.
  void register_module(const std::string& name, Module& child);
  /// The same, sharing ownership of the child (REG-18). Errors: REG-14 for a null.
  void register_module(const std::string& name, std::shared_ptr<Module> child);
  /// Records that this module uses, under `name`, a parameter that another one owns and registers (REG-15). It is not
  /// listed here. Errors: REG-3, REG-4, REG-10, REG-12; REG-15 for a null.
  void tie_parameter(const std::string& name, ParameterHandle parameter);

  /// Takes a parameter out of `parameters()`; its name and place stay reserved, and its wrapper may then be moved from,
  /// so that the memory goes (REG-13). Also allowed once this module is attached.
  /// Errors: REG-13 unless `parameter` is the one under that name, not frozen, and held by this module alone.
  void deactivate_parameter(const std::string& name, Parameter& parameter);
  /// Puts a parameter, this or another, in the place that was reserved. Errors: REG-13 unless the name is deactivated;
  /// REG-5 and REG-6 for a parameter that the whole tree has already; REG-12.
  void reactivate_parameter(const std::string& name, Parameter& parameter);

  // `to` calls these two at every node of the tree. Most modules have nothing more to move, hence the bodies.

  /// Parameters that `parameters()` does not list, as those of an adapter, with names relative to this module that
  /// differ from all others of the tree (XFER-6).
  virtual ParameterList extra_parameters_for_transfer() const { return {}; }
  /// Stages what lives on the device and is no parameter, as packed codes (XFER-7). May throw: nothing has moved then.
  ///
  ///     void stage_transfer(Transfer& transfer) override { transfer.stage(codes_); }
  virtual void stage_transfer(Transfer&) {}

 private:
  struct Child {
    Module* module;  // null once the child was destroyed
    std::shared_ptr<Module> owner;
  };
  struct Tie {
    ParameterHandle parameter;
  };
  struct Deactivated {};
  struct Slot {
    std::string name;
    std::variant<ParameterHandle, Child, Tie, Deactivated> content;
  };
  class Walk;

  void require_free_slot(const std::string& operation, const std::string& name) const;
  void require_new_parameter(const std::string& operation, const Parameter& parameter) const;
  void attach(const std::string& name, Module& child, std::shared_ptr<Module> owner);
  Slot* slot_of(const std::string& name);

  std::vector<Slot> slots_;
  Module* parent_ = nullptr;
};

/// Stands at the beginning of a forward: what it computes is traced as this module's.
///
///     Variable Mlp::forward(const Variable& x) const {
///       ForwardScope scope(*this);
///       return …;
///     }
class ForwardScope {
 public:
  explicit ForwardScope(const Module& module) {
    if (TraceScope::active()) name_.emplace(module.path());
  }

 private:
  std::optional<ModuleNameScope> name_;
};

/// An ordered list of children that it owns, named "0", "1", …. It is filled by its constructor.
///
/// Errors: REG-14 for a null; a module that occurs twice is refused as by `register_module`.
///
///     ModuleList<Linear> layers({std::make_shared<Linear>(4, 3, random["0"])});
template <class Element>
class ModuleList final : public Module {
 public:
  explicit ModuleList(std::vector<std::shared_ptr<Element>> children);
  std::size_t size() const { return children_.size(); }
  Element& operator[](std::size_t index) const { return *children_.at(index); }

 private:
  std::vector<std::shared_ptr<Element>> children_;
};

/// Refuses a null child (REG-14).
void require_child(bool present, std::size_t index);

template <class Element>
ModuleList<Element>::ModuleList(std::vector<std::shared_ptr<Element>> children) : children_(std::move(children)) {
  for (std::size_t index = 0; index < children_.size(); ++index) {
    require_child(children_[index] != nullptr, index);
    register_module(std::to_string(index + (sabotaged("lists_count_from_1") ? 1 : 0)), children_[index]);
  }
}

}  // namespace assay
