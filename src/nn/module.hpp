// Module: a tree of named parameters; ModuleList: repeated children.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "autograd/parameter.hpp"

namespace assay {

/// A part of a model: parameters and child modules under names, in the order of registration.
///
/// A derived class registers its members in its constructor and has a `forward` of its own type; only autograd
/// differentiates. The dotted names and the order of `parameters()` are those of files, optimisers and reports.
///
/// Guarantees: a tree — a name, a parameter and a module occur once (REG-4 to REG-9); a refused registration changes
/// nothing (REG-11); attaching a child seals its whole subtree (REG-10). Direct children are held by address and must
/// outlive the parent's use; a child that died is reported by name (REG-12).
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

  /// Depth first in registration order, names joined by '.'. Errors: REG-12 naming a child that was destroyed.
  ParameterList parameters() const;
  /// Scalars in all parameters. Errors: ORD-6 when they do not fit 63 bits.
  std::int64_t parameter_count() const;
  /// Moves every parameter to a device, all or nothing (XFER): values keep their bits on a round trip, gradients of
  /// moved parameters are dropped, graphs built before are refused from then on.
  void to(Device device);

 protected:
  Module() = default;

  /// Errors, all before anything changes: REG-3 for a name that is empty or has a '.', REG-4 for one in use, REG-5 and
  /// REG-6 for a parameter that the tree has already, REG-10 once this module is attached.
  void register_parameter(const std::string& name, Parameter& parameter);
  /// As above; REG-7 for a cycle, REG-8 for a child that has a parent, REG-9 for a common module or parameter.
  void register_module(const std::string& name, Module& child);
  /// The same, sharing ownership of the child (REG-18).
  void register_module(const std::string& name, std::shared_ptr<Module> child);

 private:
  struct Child {
    Module* module;  // null once the child was destroyed
    std::shared_ptr<Module> owner;
  };
  struct Slot {
    std::string name;
    std::variant<ParameterHandle, Child> content;
  };

  void require_free_slot(const char* operation, const std::string& name) const;
  void collect(const std::string& prefix, ParameterList& list) const;
  void attach(const std::string& name, Module& child, std::shared_ptr<Module> owner);

  std::vector<Slot> slots_;
  Module* parent_ = nullptr;
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
    register_module(std::to_string(index), children_[index]);
  }
}

}  // namespace assay
