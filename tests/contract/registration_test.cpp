// Contract of registration: what a module takes, what it refuses, and that a refusal changes nothing.
#include <memory>

#include "autograd/ops.hpp"
#include "device/counters.hpp"
#include "nn/linear.hpp"
#include "optim/sgd.hpp"
#include "support/contract.hpp"
#include "support/modules.hpp"

using namespace assay;
using namespace assay::test;

namespace {

template <class T>
concept TakesParameters = requires(T& module, Parameter& parameter) {
  module.register_parameter("p", parameter);
};
template <class T>
concept TakesModules = requires(T& module, T& child) {
  module.register_module("m", child);
};
template <class T>
concept HasForward = requires {
  &T::forward;
};
template <class T>
concept HasBackward = requires {
  &T::backward;
};

/// Registers itself with its parent before its constructor is done.
class SelfAttaching final : public Module {
 public:
  SelfAttaching(Open& parent, Device device) : early_(zeros(device)), late_(zeros(device)) {
    register_parameter("early", early_);
    parent.register_module("self", *this);
    check_refused([&] { register_parameter("late", late_); }, "REG-10", "\"late\"");
  }

 private:
  Parameter early_, late_;
};

/// The example of the manual: a table of vectors, and a head that scores with the same table.
class Table final : public Module {
 public:
  explicit Table(Tensor weight) : weight_(std::move(weight)) { register_parameter("weight", weight_); }
  ParameterHandle weight() const { return weight_.handle(); }
  Variable forward(const Variable& x) const { return matmul(x, weight_.variable()); }

 private:
  Parameter weight_;
};
class Head final : public Module {
 public:
  explicit Head(ParameterHandle weight) : weight_(std::move(weight)) { tie_parameter("weight", weight_); }
  Variable forward(const Variable& x) const { return matmul(x, transpose(weight_->variable(), 0, 1)); }

 private:
  ParameterHandle weight_;
};
class Tied final : public Module {
 public:
  explicit Tied(Tensor weight) : table_(std::move(weight)), head_(table_.weight()) {
    register_module("table", table_);
    register_module("head", head_);
  }
  Variable forward(const Variable& x) const { return head_.forward(table_.forward(x)); }
  const Head& head() const { return head_; }

 private:
  Table table_;
  Head head_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(REG_1_a_module_is_neither_copied_nor_moved) {
  static_assert(!std::is_copy_constructible_v<Module> && !std::is_move_constructible_v<Module>);
  static_assert(!std::is_copy_assignable_v<Module> && !std::is_move_assignable_v<Module>);
  static_assert(!std::is_copy_constructible_v<Linear> && !std::is_move_constructible_v<Linear>);
  static_assert(!std::is_copy_assignable_v<Linear> && !std::is_move_assignable_v<Linear>);
  BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(REG_2_only_a_module_itself_registers) {
  static_assert(!TakesParameters<Module> && !TakesModules<Module>);
  static_assert(!TakesParameters<Linear> && !TakesModules<Linear>);
  static_assert(TakesParameters<Open> && TakesModules<Open>);
  BOOST_TEST(true);
}

CONTRACT(REG_3_a_name_is_one_segment_without_a_dot) {
  Open root, child;
  Parameter a = zeros(device), b = zeros(device);
  root.register_parameter("a", a);
  for (const char* name : {"", ".", "x.y", "x.", ".y"}) {
    const std::string found = "found \"" + std::string(name) + "\"";
    check_refused_and_unchanged(
        root, [&] { root.register_parameter(name, b); }, "REG-3", found);
    check_refused_and_unchanged(
        root, [&] { root.register_module(name, child); }, "REG-3", found);
    check_refused_and_unchanged(
        root, [&] { root.tie_parameter(name, b.handle()); }, "REG-3", found);
  }
  root.register_parameter("b", b);
  root.register_module("child", child);
}

CONTRACT(REG_4_parameters_and_children_share_one_name_space) {
  Open root, child, other;
  Parameter a = zeros(device), b = zeros(device);
  root.register_parameter("a", a);
  root.register_module("child", child);
  root.tie_parameter("tie", a.handle());
  for (const char* name : {"a", "child", "tie"}) {
    const std::string found = "\"" + std::string(name) + "\" again";
    check_refused_and_unchanged(
        root, [&] { root.register_parameter(name, b); }, "REG-4", found);
    check_refused_and_unchanged(
        root, [&] { root.register_module(name, other); }, "REG-4", found);
    check_refused_and_unchanged(
        root, [&] { root.tie_parameter(name, b.handle()); }, "REG-4", found);
  }
}

CONTRACT(REG_5_an_identity_is_registered_once_whatever_carries_it) {
  Open root;
  Parameter a = zeros(device);
  root.register_parameter("a", a);
  Parameter& proxy = *a.handle();
  Parameter second(std::move(proxy));
  for (Parameter* carrier : {&a, &proxy, &second})
    check_refused_and_unchanged(
        root, [&] { root.register_parameter("again", *carrier); }, "REG-5", "named \"a\"");
}

CONTRACT(REG_6_a_parameter_of_a_child_is_not_registered_above_it) {
  Open root, middle, child;
  Parameter a = zeros(device);
  child.register_parameter("inner", a);
  middle.register_module("child", child);
  root.register_module("middle", middle);
  check_refused_and_unchanged(
      root, [&] { root.register_parameter("again", a); }, "REG-6", "named \"middle.child.inner\"");
}

CONTRACT(REG_7_a_module_is_not_its_own_child_directly_or_through_a_cycle) {
  Open root, middle, child;
  check_refused_and_unchanged(
      root, [&] { root.register_module("self", root); }, "REG-7", "itself");
  middle.register_module("child", child);
  root.register_module("middle", middle);
  check_refused_and_unchanged(
      root, [&] { child.register_module("up", root); }, "REG-7", "one above it");
  check_refused_and_unchanged(
      root, [&] { middle.register_module("up", root); }, "REG-7", "one above it");
}

CONTRACT(REG_8_a_module_belongs_to_one_parent) {
  Open root, other, child;
  Parameter a = zeros(device);
  child.register_parameter("a", a);
  root.register_module("child", child);
  check_refused_and_unchanged(
      root, [&] { root.register_module("twice", child); }, "REG-8", "attached");
  check_refused_and_unchanged(
      root, [&] { other.register_module("child", child); }, "REG-8", "attached");
  BOOST_TEST(names_of(other).empty());
}

CONTRACT(REG_9_two_children_with_a_common_parameter_or_module_are_not_both_registered) {
  Open root, first, second, second_inner, third, shared_module;
  Parameter shared = zeros(device);
  first.register_parameter("p", shared);
  second_inner.register_parameter("q", shared);
  second.register_module("inner", second_inner);
  root.register_module("first", first);
  check_refused_and_unchanged(
      root, [&] { root.register_module("second", second); }, "REG-9", "\"inner.q\", which the tree has already");
  // A common module is refused where the second parent takes it: it has a parent.
  third.register_module("shared", shared_module);
  Open fourth;
  check_refused([&] { fourth.register_module("shared", shared_module); }, "REG-8", "attached");
}

CONTRACT(REG_10_attaching_seals_the_whole_subtree) {
  Open root, middle, child, more;
  Parameter late = zeros(device);
  middle.register_module("child", child);
  root.register_module("middle", middle);
  for (Open* sealed : {&middle, &child}) {
    check_refused_and_unchanged(
        root, [&] { sealed->register_parameter("late", late); }, "REG-10", "\"late\"");
    check_refused_and_unchanged(
        root, [&] { sealed->register_module("late", more); }, "REG-10", "\"late\"");
    check_refused_and_unchanged(
        root, [&] { sealed->tie_parameter("late", late.handle()); }, "REG-10", "\"late\"");
  }
  root.register_parameter("late", late);  // the root is not sealed
}

CONTRACT(REG_11_what_was_refused_can_be_registered_rightly_afterwards) {
  Open root, holder, child;
  Parameter a = zeros(device), shared = zeros(device);
  holder.register_parameter("p", shared);
  root.register_module("holder", holder);
  check_refused([&] { root.register_parameter("", a); }, "REG-3", "");
  a = zeros(device, 2);  // not registered, so it may still be assigned
  root.register_parameter("a", a);
  child.register_parameter("q", shared);
  check_refused([&] { root.register_module("child", child); }, "REG-9", "\"q\"");
  Parameter more = zeros(device);
  child.register_parameter("more", more);  // not sealed
  Open elsewhere;
  elsewhere.register_module("child", child);
  BOOST_TEST(names_of(root) == (Names{"holder.p", "a"}), boost::test_tools::per_element());
  BOOST_TEST(names_of(elsewhere) == (Names{"child.q", "child.more"}), boost::test_tools::per_element());
}

CONTRACT(REG_12_a_destroyed_child_is_named_by_the_next_call_on_any_ancestor) {
  Open root, middle, other, above;
  Parameter late = zeros(device);
  {
    Open child;
    middle.register_module("gone", child);
    root.register_module("middle", middle);
    BOOST_TEST(names_of(root).empty());
  }
  check_refused([&] { middle.parameters(); }, "REG-12", "\"gone\" destroyed");
  const std::string found = "\"middle.gone\" destroyed";
  check_refused([&] { root.parameters(); }, "REG-12", found);
  check_refused([&] { root.parameter_count(); }, "REG-12", found);
  check_refused([&] { root.aliases(); }, "REG-12", found);
  check_refused([&] { root.to(reference_device); }, "REG-12", found);
  check_refused([&] { root.register_parameter("late", late); }, "REG-12", found);
  check_refused([&] { root.register_module("late", other); }, "REG-12", found);
  check_refused([&] { root.tie_parameter("late", late.handle()); }, "REG-12", found);
  check_refused([&] { above.register_module("root", root); }, "REG-12", found);
  above.register_module("late", other);  // refused calls left both free
  above.register_parameter("parameter", late);
}

CONTRACT(REG_13_a_parameter_that_nothing_outside_holds_is_deactivated_and_comes_back_in_its_place) {
  Open root, layer;
  Parameter first = zeros(device), weight(Tensor::full({1000}, 2, device)), last = zeros(device);
  layer.register_parameter("first", first);
  layer.register_parameter("weight", weight);
  layer.register_parameter("last", last);
  root.register_module("layer", layer);
  const std::uint64_t before = device_counters(device).live_bytes;
  const Names all{"layer.first", "layer.weight", "layer.last"}, fewer{"layer.first", "layer.last"};

  layer.deactivate_parameter("weight", weight);
  BOOST_TEST(names_of(root) == fewer, boost::test_tools::per_element());
  BOOST_TEST(root.parameter_count() == 2);
  weight = zeros(device);  // the dense value goes
  BOOST_TEST(device_counters(device).live_bytes < before);
  Parameter other = zeros(device);
  check_refused_and_unchanged(
      root, [&] { layer.deactivate_parameter("weight", weight); }, "REG-13", "found none");
  check_refused_and_unchanged(
      root, [&] { layer.reactivate_parameter("weight", first); }, "REG-6", "\"layer.first\"");
  check_refused_and_unchanged(
      root, [&] { layer.reactivate_parameter("last", other); }, "REG-13", "one in use");
  check_refused_and_unchanged(
      root, [&] { layer.reactivate_parameter("none", other); }, "REG-13", "no such name");

  layer.reactivate_parameter("weight", weight);
  BOOST_TEST(names_of(root) == all, boost::test_tools::per_element());
  BOOST_TEST(root.parameters()[1].parameter.get() == weight.handle().get());
  check_refused([&] { weight = zeros(device); }, "LIFE-4", "registered");
  check_refused_and_unchanged(
      root, [&] { layer.deactivate_parameter("weight", first); }, "REG-13", "another one");

  Open free;
  Parameter own = zeros(device);
  free.register_parameter("own", own);
  free.deactivate_parameter("own", own);
  check_refused([&] { free.register_parameter("own", other); }, "REG-4", "\"own\"");  // the name stays reserved
}

CONTRACT(REG_13_handles_lists_optimisers_graphs_tensors_and_ties_keep_a_parameter_active) {
  Open root, tying;
  Parameter weight(Tensor::full({2}, 3, device));
  root.register_parameter("weight", weight);
  auto refused_while = [&](const std::string& what, const std::string& fragment) {
    check_refused([&] { root.deactivate_parameter("weight", weight); }, "REG-13", fragment);
    BOOST_TEST(names_of(root) == (Names{"weight"}), what);
  };
  const std::string handles = "1 of handles, lists, optimisers or wrappers", graph = "a variable or a graph";
  {
    ParameterHandle handle = weight.handle();
    refused_while("handle", handles);
  }
  {
    ParameterList list = root.parameters();
    refused_while("list", handles);
  }
  {
    Sgd optimiser(root.parameters(), {});
    refused_while("optimiser", handles);
  }
  {
    Parameter wrapper(std::move(*weight.handle()));
    refused_while("wrapper", handles);
  }
  {
    Variable loss = sum(multiply(weight.variable(), weight.variable()));
    refused_while("graph", graph);
    loss.backward();
    BOOST_TEST(doubles(weight.gradient())[0] == 6);
  }
  {
    Variable variable = weight.variable();
    refused_while("variable", graph);
  }
  {
    Tensor view = weight.value().slice(0, 0, 1);
    refused_while("tensor", "a tensor that shares its value");
  }
  {
    Variable loss;
    weight.freeze();
    loss = sum(multiply(weight.variable(), Variable::leaf(Tensor::full({2}, 1, device))));
    refused_while("frozen", "a frozen one");
    weight.unfreeze();
    refused_while("graph from the time when it was frozen", "a tensor that shares its value");
  }
  {
    Open tied;
    tied.tie_parameter("weight", weight.handle());
    refused_while("tie", handles);
  }
  root.deactivate_parameter("weight", weight);
  BOOST_TEST(names_of(root).empty());
}

CONTRACT(REG_14_a_module_list_owns_and_numbers_its_children_and_refuses_null_and_repetition) {
  struct Leaf final : Module {
    explicit Leaf(Device device) : value(zeros(device)) { register_parameter("p", value); }
    Parameter value;
  };
  auto leaf = [&] { return std::make_shared<Leaf>(device); };
  auto first = leaf();
  check_refused([&] { ModuleList<Leaf>({leaf(), nullptr}); }, "REG-14", "null at 1");
  check_refused([&] { ModuleList<Leaf>({first, first}); }, "REG-8", "attached");
  check_refused([&] { Open().register_module("null", std::shared_ptr<Module>()); }, "REG-14", "null");
  std::weak_ptr<Leaf> watched = first;
  ModuleList<Leaf> list({std::move(first), leaf()});  // what a refused list took is free again
  BOOST_TEST(!watched.expired());
  BOOST_TEST(list.size() == 2u);
  BOOST_TEST(names_of(list) == (Names{"0.p", "1.p"}), boost::test_tools::per_element());
  Open root;
  root.register_module("layers", list);
  BOOST_TEST(names_of(root) == (Names{"layers.0.p", "layers.1.p"}), boost::test_tools::per_element());
}

CONTRACT(REG_15_a_tied_parameter_is_listed_stepped_and_moved_once_under_its_owners_name) {
  Tied model(Tensor::full({2, 3}, 0.5, device));
  BOOST_TEST(names_of(model) == (Names{"table.weight"}), boost::test_tools::per_element());
  BOOST_TEST(model.parameter_count() == 6);
  std::vector<ParameterAlias> aliases = model.aliases();
  BOOST_REQUIRE(aliases.size() == 1u);
  BOOST_TEST(aliases[0].alias == "head.weight");
  BOOST_TEST(aliases[0].owner == "table.weight");
  check_refused([&] { model.head().aliases(); }, "REG-15", "the owner of \"weight\" in the tree");
  BOOST_TEST(names_of(model.head()).empty());

  // y = x·W·Wᵀ with x of 1 and W of 1/2: each element of W gets 1 from the table and 1 from the head.
  ParameterList list = model.parameters();
  Sgd optimiser(list, {});
  sum(model.forward(Tensor::full({1, 2}, 1, device))).backward();
  for (double element : doubles(list[0].parameter->gradient())) BOOST_TEST(element == 2);
  optimiser.step(0.125);
  for (double element : doubles(list[0].parameter->value())) BOOST_TEST(element == 0.25);

  model.to(reference_device);
  BOOST_TEST(doubles(model.forward(Tensor::full({1, 2}, 1, reference_device)).value())[0] == 0.375);
  BOOST_TEST(listed(model).front().second == list[0].parameter.get());

  Open root;
  check_refused([&] { root.tie_parameter("nothing", {}); }, "REG-15", "a handle of nothing");
}

BOOST_AUTO_TEST_CASE(REG_16_a_module_declares_neither_forward_nor_backward) {
  static_assert(!HasForward<Module> && !HasBackward<Module>);
  static_assert(HasForward<Linear> && !HasBackward<Linear>);
  BOOST_TEST(true);
}

CONTRACT(REG_17_a_module_that_attaches_itself_is_sealed_and_its_parent_stays_usable) {
  Open root;
  SelfAttaching child(root, device);
  Parameter more = zeros(device);
  root.register_parameter("more", more);
  BOOST_TEST(names_of(root) == (Names{"self.early", "more"}), boost::test_tools::per_element());
  root.to(reference_device);
  BOOST_TEST(to_string(more.value().device()) == "reference");
}

CONTRACT(REG_18_a_shared_child_is_owned_and_has_one_parent) {
  Parameter a = zeros(device);
  auto child = std::make_shared<Open>();
  child->register_parameter("a", a);
  std::weak_ptr<Open> watched = child;
  {
    Open root, other;
    root.register_module("child", child);
    check_refused_and_unchanged(
        root, [&] { other.register_module("child", child); }, "REG-8", "attached");
    child.reset();
    BOOST_TEST(!watched.expired());
    BOOST_TEST(names_of(root) == (Names{"child.a"}), boost::test_tools::per_element());
    child = watched.lock();
  }
  Open next;
  next.register_module("child", child);  // it outlived its parent and is free again
  child.reset();
  BOOST_TEST(names_of(next) == (Names{"child.a"}), boost::test_tools::per_element());
}
