// Registration, its refusals, and the walk over a module tree.
#include "nn/module.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.hpp"

namespace assay {

Module::~Module() {
  if (parent_)
    for (Slot& slot : parent_->slots_)
      if (Child* child = std::get_if<Child>(&slot.content); child && child->module == this) child->module = nullptr;
  for (Slot& slot : slots_)
    if (Child* child = std::get_if<Child>(&slot.content); child && child->module) child->module->parent_ = nullptr;
}

ParameterList Module::parameters() const {
  ParameterList list;
  collect("", list);
  return list;
}

void Module::collect(const std::string& prefix, ParameterList& list) const {
  for (const Slot& slot : slots_) {
    std::string name = prefix.empty() ? slot.name : prefix + "." + slot.name;
    if (const auto* parameter = std::get_if<ParameterHandle>(&slot.content)) {
      list.push_back({name, *parameter});
    } else {
      const Module* child = std::get<Child>(slot.content).module;
      if (!child) throw Error("REG-12", "walk over a module tree", "every child alive", "\"" + name + "\" destroyed");
      child->collect(name, list);
    }
  }
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const NamedParameter& entry : parameters())
    if (__builtin_add_overflow(count, entry.parameter->value().size(), &count))
      throw Error("ORD-6", "parameter_count", "at most 2^63 - 1 scalars", "more, at \"" + entry.name + "\"");
  return count;
}

void Module::to(Device device) { move_parameters_to(parameters(), device); }

void Module::require_free_slot(const char* operation, const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos)
    throw Error("REG-3", operation, "a name of one segment without '.'", "\"" + name + "\"");
  if (parent_)
    throw Error("REG-10", operation, "a module that is not attached yet", "\"" + name + "\" for a sealed one");
  for (const Slot& slot : slots_) {
    if (slot.name == name) throw Error("REG-4", operation, "a name that is free", "\"" + name + "\" again");
    const Child* child = std::get_if<Child>(&slot.content);
    if (child && !child->module)
      throw Error("REG-12", operation, "every child alive", "\"" + slot.name + "\" destroyed");
  }
}

void Module::register_parameter(const std::string& name, Parameter& parameter) {
  require_free_slot("register_parameter", name);
  ParameterHandle handle = parameter.handle();
  for (const NamedParameter& entry : parameters())
    if (entry.parameter == handle)
      throw Error(entry.name.find('.') == std::string::npos ? "REG-5" : "REG-6", "register_parameter \"" + name + "\"",
                  "a parameter that is not in the tree", "the one named \"" + entry.name + "\"");
  slots_.push_back({name, handle});
  parameter.mark_registered();
}

void Module::register_module(const std::string& name, Module& child) { attach(name, child, nullptr); }

void Module::register_module(const std::string& name, std::shared_ptr<Module> child) {
  if (!child) throw Error("REG-14", "register_module \"" + name + "\"", "a module", "null");
  Module& module = *child;
  attach(name, module, std::move(child));
}

void Module::attach(const std::string& name, Module& child, std::shared_ptr<Module> owner) {
  std::string operation = "register_module \"" + name + "\"";
  require_free_slot(operation.c_str(), name);
  // Whatever stands above this module is sealed with it, so a longer cycle is refused as REG-8 or REG-10.
  if (&child == this) throw Error("REG-7", operation, "a module below this one", "itself");
  if (child.parent_) throw Error("REG-8", operation, "a child without a parent", "one that is attached");
  std::set<const Parameter*> mine;
  for (const NamedParameter& entry : parameters()) mine.insert(entry.parameter.get());
  for (const NamedParameter& entry : child.parameters())
    if (mine.count(entry.parameter.get()))
      throw Error("REG-9", operation, "a child with parameters of its own",
                  "\"" + entry.name + "\", which the tree has already");
  slots_.push_back({name, Child{&child, std::move(owner)}});
  child.parent_ = this;
}

void require_child(bool present, std::size_t index) {
  if (!present) throw Error("REG-14", "ModuleList", "a module at every place", "null at " + std::to_string(index));
}

}  // namespace assay
