// Contract of transfers of whole trees: what modules add to them, and that all of it moves or nothing.
#include <memory>
#include <stdexcept>

#include "optim/adam.hpp"
#include "support/contract.hpp"
#include "support/modules.hpp"
#include "support/observed.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Device other_than(Device device) { return device == cpu ? simulated : cpu; }

/// A layer with an adapter that `parameters()` does not list, and packed codes that are no parameter: the example of
/// the manual.
struct Adapted final : Module {
  explicit Adapted(Device device)
      : weight(Tensor::full({2}, 1, device)),
        down(Tensor::full({3}, 2, device)),
        codes(Tensor::from<std::uint8_t>({1, 2, 3, 4}, {4}, device)),
        extra{{"down", down.handle()}} {
    register_parameter("weight", weight);
  }
  ParameterList extra_parameters_for_transfer() const override { return extra; }
  void stage_transfer(Transfer& transfer) override {
    transfer.stage(codes);
    transfer.stage(undefined);
    if (fails) throw std::runtime_error("no room for the codes");
  }

  Parameter weight, down;
  Tensor codes, undefined;
  ParameterList extra;
  bool fails = false;
};

struct Tree {
  explicit Tree(Device device) : first(device), second(device) {
    middle.register_module("second", second);
    root.register_module("first", first);
    root.register_module("middle", middle);
    for (const NamedParameter& entry : everything())
      entry.parameter->set_gradient(Tensor::full(entry.parameter->value().shape(), 1, device));
  }
  ParameterList everything() const {
    ParameterList list = root.parameters();
    list.push_back({"first.down", first.down.handle()});
    list.push_back({"middle.second.down", second.down.handle()});
    return list;
  }
  /// Everything that a refused transfer may not change.
  Observed observe() const {
    Observed now = assay::test::observe(everything());
    for (const Adapted* module : {&first, &second})
      now.facts.push_back(bits_of(module->codes) + ", version " + std::to_string(module->codes.version()));
    for (const std::string& name : names_of(root)) now.facts.push_back("listed " + name);
    return now;
  }
  Adapted first, second;
  Open middle, root;
};

}  // namespace

CONTRACT(XFER_6_extra_parameters_of_every_node_move_with_the_tree_and_are_not_listed) {
  Tree tree(device);
  const Names before = names_of(tree.root);
  BOOST_TEST(before == (Names{"first.weight", "middle.second.weight"}), boost::test_tools::per_element());
  const std::uint64_t version = tree.second.down.value().version();
  tree.root.to(other_than(device));
  for (const NamedParameter& entry : tree.everything()) {
    BOOST_TEST(to_string(entry.parameter->value().device()) == to_string(other_than(device)), entry.name);
    BOOST_TEST(!entry.parameter->has_pending_gradient(), entry.name);
  }
  BOOST_TEST(doubles(tree.second.down.value())[2] == 2);
  BOOST_TEST(tree.second.down.value().version() == version + 1);
  BOOST_TEST(names_of(tree.root) == before, boost::test_tools::per_element());
}

CONTRACT(XFER_6_extra_names_are_not_empty_and_unique_in_the_tree) {
  Tree tree(device);
  Parameter more = zeros(device);
  auto refused = [&](NamedParameter extra, const std::string& fragment) {
    tree.second.extra.push_back(std::move(extra));
    Observed before = tree.observe();
    check_refused([&] { tree.root.to(other_than(device)); }, "XFER-6", fragment);
    check_unchanged(before, tree.observe(), "a refused transfer");
    tree.second.extra.pop_back();
  };
  refused({"", more.handle()}, "extra parameters of \"middle.second.\"");
  refused({"nothing", {}}, "behind \"nothing\"");
  refused({"down", more.handle()}, "\"down\" twice");
  refused({"weight", more.handle()}, "\"middle.second.weight\" twice");
  refused({"again", tree.first.down.handle()}, "\"middle.second.again\"");
  tree.root.to(other_than(device));
}

CONTRACT(XFER_6_and_7_a_failure_anywhere_leaves_parameters_extras_and_buffers_as_they_were) {
  Tree tree(device);
  for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy}) {
    int failures = check_atomic_under_faults(
        other_than(device), action, [&] { tree.root.to(other_than(device)); }, [&] { return tree.observe(); },
        "transfer of a tree");
    BOOST_TEST(failures == 6, failures << " actions could fail, expected one for each of 6 values");
    tree.root.to(device);
    for (const NamedParameter& entry : tree.everything())
      entry.parameter->set_gradient(Tensor::full(entry.parameter->value().shape(), 1, device));
  }
}

CONTRACT(XFER_7_staged_state_commits_with_the_tree_also_through_an_ancestor) {
  Tree tree(device);
  const Tensor held = tree.second.codes;
  const std::uint64_t version = held.version();
  Module& ancestor = tree.root;
  ancestor.to(other_than(device));
  for (const Adapted* module : {&tree.first, &tree.second}) {
    BOOST_TEST(to_string(module->codes.device()) == to_string(other_than(device)));
    auto codes = module->codes.read<std::uint8_t>();
    for (std::int64_t i = 0; i < 4; ++i) BOOST_TEST(codes[i] == i + 1);
  }
  BOOST_TEST(tree.second.codes.version() == version + 1);
  BOOST_TEST(to_string(held.device()) == to_string(device));  // who held the old codes still has them
  const Tensor there = tree.second.codes;
  ancestor.to(other_than(device));
  BOOST_TEST(tree.second.codes.shares_storage_with(there));
  BOOST_TEST(!tree.second.undefined.defined());
}

CONTRACT(XFER_7_an_override_that_throws_leaves_the_whole_tree_where_it_was) {
  static_assert(noexcept(std::declval<Transfer&>().commit()));
  Tree tree(device);
  tree.second.fails = true;
  Observed before = tree.observe();
  BOOST_CHECK_THROW(tree.root.to(other_than(device)), std::runtime_error);
  check_unchanged(before, tree.observe(), "a refused transfer");
  tree.second.fails = false;
  tree.root.to(other_than(device));
}

CONTRACT(XFER_11_a_list_moves_as_a_tree_does_and_keeps_what_is_there_already) {
  Parameter stays(Tensor::full({2}, 1, other_than(device))), moves(Tensor::full({2}, 2, device)),
      moves_too(Tensor::full({2}, 3, device));
  stays.set_gradient(Tensor::full({2}, 1, other_than(device)));
  moves.set_gradient(Tensor::full({2}, 1, device));
  ParameterList list{{"stays", stays.handle()}, {"moves", moves.handle()}, {"moves_too", moves_too.handle()}};
  int failures = check_atomic_under_faults(
      other_than(device), DeviceAction::copy, [&] { move_parameters_to(list, other_than(device)); },
      [&] { return observe(list); }, "transfer of a list");
  BOOST_TEST(failures == 2);
  BOOST_TEST(stays.has_pending_gradient());
  BOOST_TEST(!moves.has_pending_gradient());
  BOOST_TEST(doubles(moves.value())[1] == 2);
  BOOST_TEST(doubles(moves_too.value())[1] == 3);
}
