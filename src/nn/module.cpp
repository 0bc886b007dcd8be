// Registration, its refusals, and the walk over a module tree.
#include "nn/module.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay {
namespace {

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

// Owned children of modules that are being destroyed: whichever module dies meanwhile adds its own.
thread_local std::vector<std::shared_ptr<Module>>* dying = nullptr;

}  // namespace

// Every slot of a tree, depth first in the order of registration; a child's slot comes before the slots of the child.
class Module::Walk {
 public:
  Walk(const Module& root, std::string operation) : operation_(std::move(operation)), enter_(&root) {}

  // Null at the end.
  const Slot* next() {
    if (enter_) path_.push_back({std::exchange(enter_, nullptr), 0});
    while (!path_.empty()) {
      auto& [module, next] = path_.back();
      if (next == module->slots_.size()) {
        path_.pop_back();
        continue;
      }
      const Slot& slot = module->slots_[next++];
      if (const Child* child = std::get_if<Child>(&slot.content)) {
        if (!child->module && sabotaged("dead_children_are_passed_over")) continue;
        if (!child->module)
          throw Error("REG-12", operation_, "every module of the tree alive", quoted(name()) + " destroyed");
        if (child->module->parent_ != module && !sabotaged("walk_trusts_the_tree"))
          throw Error("ORD-4", operation_, quoted(name()) + " below its parent", "another module in its memory");
        enter_ = child->module;
      }
      return &slot;
    }
    return nullptr;
  }

  // Of the slot that `next` gave, from the root on.
  std::string name() const {
    std::string joined;
    for (const Step& step : path_) {
      if (sabotaged("names_are_last_segments")) joined.clear();
      if (!joined.empty()) joined += '.';
      joined += step.module->slots_[step.next - 1].name;
    }
    return joined;
  }

 private:
  struct Step {
    const Module* module;
    std::size_t next;
  };
  std::string operation_;
  const Module* enter_;
  std::vector<Step> path_;
};

Module::~Module() {
  if (parent_)
    for (Slot& slot : parent_->slots_)
      if (Child* child = std::get_if<Child>(&slot.content); child && child->module == this) child->module = nullptr;
  std::vector<std::shared_ptr<Module>> owned;
  const bool nested = dying && !sabotaged("modules_die_inside_one_another");
  auto& list = nested ? *dying : owned;
  for (Slot& slot : slots_) {
    Child* child = std::get_if<Child>(&slot.content);
    if (!child || !child->module) continue;
    child->module->parent_ = nullptr;
    if (child->owner) list.push_back(std::move(child->owner));
  }
  if (nested) return;
  dying = &owned;
  while (!owned.empty()) {
    std::shared_ptr<Module> next = std::move(owned.back());
    owned.pop_back();
  }
  dying = nullptr;
}

ParameterList Module::parameters() const {
  ParameterList list;
  for (Walk walk(*this, "parameters"); const Slot* slot = walk.next();) {
    const auto* parameter = std::get_if<ParameterHandle>(&slot->content);
    const Tie* tie = std::get_if<Tie>(&slot->content);
    if (tie && sabotaged("ties_are_listed")) parameter = &tie->parameter;
    if (parameter && (*parameter)->frozen() && sabotaged("frozen_is_not_listed")) continue;
    if (parameter) list.push_back({walk.name(), *parameter});
  }
  for (const auto& [name, module] : sabotaged("adapters_are_listed") ? modules() : decltype(modules()){})
    for (const NamedParameter& entry : module->extra_parameters_for_transfer())
      list.push_back({name + "." + entry.name, entry.parameter});
  if (sabotaged("listed_by_name"))
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (sabotaged("listed_by_address"))
    std::sort(list.begin(), list.end(),
              [](const auto& a, const auto& b) { return a.parameter.get() < b.parameter.get(); });
  if (static int calls = 0; sabotaged("every_second_list_is_reversed") && calls++ % 2)
    std::reverse(list.begin(), list.end());
  return list;
}

std::vector<std::pair<std::string, Module*>> Module::modules() const {
  std::vector<std::pair<std::string, Module*>> list;
  for (Walk walk(*this, "modules"); const Slot* slot = walk.next();)
    if (const Child* child = std::get_if<Child>(&slot->content)) list.emplace_back(walk.name(), child->module);
  return list;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const NamedParameter& entry : parameters())
    if (__builtin_add_overflow(count, entry.parameter->value().size(), &count) && !sabotaged("count_wraps"))
      throw Error("ORD-6", "parameter_count", "at most 2^63 - 1 scalars", "more, at " + quoted(entry.name));
  return count;
}

std::vector<ParameterAlias> Module::aliases() const {
  std::map<const Parameter*, std::string> owners;
  for (const NamedParameter& entry : parameters()) owners[entry.parameter.get()] = entry.name;
  std::vector<ParameterAlias> aliases;
  for (Walk walk(*this, "aliases"); const Slot* slot = walk.next();) {
    const Tie* tie = std::get_if<Tie>(&slot->content);
    if (!tie) continue;
    auto owner = owners.find(tie->parameter.get());
    if (owner == owners.end() && !sabotaged("ties_need_no_owner"))
      throw Error("REG-15", "aliases", "the owner of " + quoted(walk.name()) + " in the tree", "none");
    aliases.push_back({walk.name(), owner == owners.end() ? "" : owner->second});
  }
  return aliases;
}

void Module::to(Device device) {
  const std::string operation = "transfer to " + to_string(device);
  ParameterList list;
  std::vector<Module*> modules;
  Walk walk(*this, operation);
  auto enter = [&](Module& module) {
    modules.push_back(&module);
    if (&module != this && sabotaged("only_the_root_has_extra_parameters")) return;
    ParameterList extra = module.extra_parameters_for_transfer();
    if (extra.empty()) return;
    const std::string prefix = &module == this ? "" : walk.name() + ".";
    if (!sabotaged("extra_parameters_are_not_checked"))
      require_valid(extra, "extra parameters of \"" + prefix + "\"", "XFER-6");
    for (NamedParameter& entry : extra) list.push_back({prefix + entry.name, std::move(entry.parameter)});
  };
  enter(*this);
  while (const Slot* slot = walk.next()) {
    if (const auto* parameter = std::get_if<ParameterHandle>(&slot->content)) list.push_back({walk.name(), *parameter});
    if (const Child* child = std::get_if<Child>(&slot->content)) enter(*child->module);
  }
  if (!sabotaged("extra_parameters_are_not_checked")) require_valid(list, operation, "XFER-6");
  Transfer transfer(device);
  for (const NamedParameter& entry : list) transfer.add(entry.parameter);
  for (Module* module : modules)
    if (module == this || !sabotaged("only_the_root_stages")) module->stage_transfer(transfer);
  transfer.commit();
}

void Module::require_free_slot(const std::string& operation, const std::string& name) const {
  if ((name.empty() || name.find('.') != std::string::npos) && !sabotaged("names_of_any_form"))
    throw Error("REG-3", operation, "a name of one segment without '.'", quoted(name));
  if (parent_ && !sabotaged("attached_modules_stay_open"))
    throw Error("REG-10", operation, "a module that is not attached yet", quoted(name) + " for a sealed one");
  for (const Slot& slot : slots_)
    if (slot.name == name && !sabotaged("names_are_used_twice"))
      throw Error("REG-4", operation, "a name that is free", quoted(name) + " again");
  for (Walk walk(*this, operation); walk.next();) continue;
}

void Module::require_new_parameter(const std::string& operation, const Parameter& parameter) const {
  const ParameterHandle handle = parameter.handle();
  for (Walk walk(*this, operation); const Slot* slot = walk.next();) {
    const auto* other = std::get_if<ParameterHandle>(&slot->content);
    if (!other || !(*other == handle) || sabotaged("parameters_are_registered_twice")) continue;
    const std::string name = walk.name();
    throw Error(name.find('.') == std::string::npos ? "REG-5" : "REG-6", operation,
                "a parameter that is not in the tree", "the one named " + quoted(name));
  }
}

void Module::register_parameter(const std::string& name, Parameter& parameter) {
  const std::string operation = "register_parameter " + quoted(name);
  if (sabotaged("refused_parameters_are_marked")) parameter.mark_registered(true);
  require_free_slot(operation, name);
  require_new_parameter(operation, parameter);
  slots_.push_back({name, parameter.handle()});
  parameter.mark_registered(true);
}

void Module::register_module(const std::string& name, Module& child) { attach(name, child, nullptr); }

void Module::register_module(const std::string& name, std::shared_ptr<Module> child) {
  if (!child) throw Error("REG-14", "register_module " + quoted(name), "a module", "null");
  Module& module = *child;
  attach(name, module, std::move(child));
}

void Module::attach(const std::string& name, Module& child, std::shared_ptr<Module> owner) {
  const std::string operation = "register_module " + quoted(name);
  for (const Module* above = this; above; above = above->parent_)
    if (above == &child && (above == this || !sabotaged("cycles_are_not_looked_for")))
      throw Error("REG-7", operation, "a module that is not this one or above it",
                  above == this ? "itself" : "one above it");
  require_free_slot(operation, name);
  if (child.parent_ && !sabotaged("modules_of_two_parents"))
    throw Error("REG-8", operation, "a child without a parent", "one that is attached");
  if (sabotaged("refused_children_are_sealed")) child.parent_ = this;
  std::set<const Parameter*> mine;
  for (const NamedParameter& entry : parameters()) mine.insert(entry.parameter.get());
  for (Walk walk(child, operation); const Slot* slot = walk.next();) {
    const auto* parameter = std::get_if<ParameterHandle>(&slot->content);
    if (parameter && mine.count(parameter->get()) && !sabotaged("children_share_parameters"))
      throw Error("REG-9", operation, "a child with parameters of its own",
                  quoted(walk.name()) + ", which the tree has already");
  }
  if (sabotaged("children_are_never_owned")) owner.reset();
  slots_.push_back({name, Child{&child, std::move(owner)}});
  child.parent_ = this;
}

void Module::tie_parameter(const std::string& name, ParameterHandle parameter) {
  const std::string operation = "tie_parameter " + quoted(name);
  if (!parameter.get()) throw Error("REG-15", operation, "a parameter", "a handle of nothing");
  require_free_slot(operation, name);
  slots_.push_back({name, Tie{std::move(parameter)}});
}

Module::Slot* Module::slot_of(const std::string& name) {
  auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.name == name; });
  return slot == slots_.end() ? nullptr : &*slot;
}

std::string Module::path() const {
  std::string path;
  for (const Module* module = this; module->parent_; module = module->parent_)
    for (const Slot& slot : module->parent_->slots_)
      if (const Child* child = std::get_if<Child>(&slot.content); child && child->module == module)
        path = path.empty() ? slot.name : slot.name + "." + path;
  return path;
}

void Module::deactivate_parameter(const std::string& name, Parameter& parameter) {
  const std::string operation = "deactivate_parameter " + quoted(name);
  Slot* slot = slot_of(name);
  const auto* active = slot ? std::get_if<ParameterHandle>(&slot->content) : nullptr;
  if (!active || active->get() != parameter.handle().get())
    throw Error("REG-13", operation, "the parameter that is active under this name", active ? "another one" : "none");
  if (parameter.frozen() && !sabotaged("frozen_is_deactivated"))
    throw Error("REG-13", operation, "a parameter that is not frozen", "a frozen one");
  if (std::string holders = parameter.other_holders(1); !holders.empty())
    throw Error("REG-13", operation, "a parameter that this module alone holds", holders);
  parameter.mark_registered(false);
  if (sabotaged("deactivated_stays_listed")) return;
  slot->content = Deactivated{};
  if (sabotaged("deactivation_moves_the_slot")) std::rotate(slots_.begin(), slots_.begin() + 1, slots_.end());
}

void Module::reactivate_parameter(const std::string& name, Parameter& parameter) {
  const std::string operation = "reactivate_parameter " + quoted(name);
  Slot* slot = slot_of(name);
  if (!slot || !std::holds_alternative<Deactivated>(slot->content))
    throw Error("REG-13", operation, "a name whose parameter was deactivated", slot ? "one in use" : "no such name");
  const Module* root = this;
  while (root->parent_) root = root->parent_;
  root->require_new_parameter(operation, parameter);
  slot->content = parameter.handle();
  parameter.mark_registered(true);
}

void require_child(bool present, std::size_t index) {
  if (!present && !sabotaged("lists_take_null"))
    throw Error("REG-14", "ModuleList", "a module at every place", "null at " + std::to_string(index));
}

}  // namespace assay
