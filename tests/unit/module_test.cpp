// Module trees: registration, names and order, identity of parameters.
#include "nn/module.hpp"

#include "models/mlp.hpp"
#include "nn/linear.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

/// A module whose registration the tests can drive.
class Open final : public Module {
 public:
  using Module::register_module;
  using Module::register_parameter;
};

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const NamedParameter& entry : module.parameters()) names.push_back(entry.name);
  return names;
}

class ProjectionPair final : public Module {
 public:
  explicit ProjectionPair(const Random& random) : first_(4, 3, random["first"]), second_(3, 2, random["second"]) {
    register_module("first", first_);
    register_module("second", second_);
  }

 private:
  Linear first_, second_;
};

static_assert(!std::is_copy_constructible_v<Module> && !std::is_move_constructible_v<Module>);
static_assert(!std::is_copy_constructible_v<Parameter> && std::is_move_constructible_v<Parameter>);

}  // namespace

BOOST_AUTO_TEST_SUITE(module_tree)

BOOST_AUTO_TEST_CASE(ORD_8_a_pair_of_layers_and_an_mlp_list_their_parameters_in_registration_order) {
  Random random(1);
  std::vector<std::string> pair{"first.weight", "first.bias", "second.weight", "second.bias"};
  BOOST_TEST(names_of(ProjectionPair(random)) == pair, boost::test_tools::per_element());
  Mlp mlp({4, 3, 2}, Activation::relu, 0, random);
  std::vector<std::string> layers{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};
  BOOST_TEST(names_of(mlp) == layers, boost::test_tools::per_element());
  BOOST_TEST(mlp.parameter_count() == 4 * 3 + 3 + 3 * 2 + 2);
}

BOOST_AUTO_TEST_CASE(ORD_1_parameters_and_children_interleave_as_registered) {
  Open root, child;
  Parameter a(Tensor::zeros({1})), b(Tensor::zeros({1})), c(Tensor::zeros({1}));
  child.register_parameter("inner", b);
  root.register_parameter("z", a);
  root.register_module("m", child);
  root.register_parameter("a", c);
  std::vector<std::string> expected{"z", "m.inner", "a"};
  BOOST_TEST(names_of(root) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(REG_3_to_6_a_refused_parameter_changes_nothing) {
  Open root, child;
  Parameter a(Tensor::zeros({1})), b(Tensor::zeros({1}));
  child.register_parameter("inner", b);
  root.register_parameter("a", a);
  root.register_module("child", child);
  Parameter other(Tensor::zeros({1}));
  check_refused([&] { root.register_parameter("", other); }, "REG-3");
  check_refused([&] { root.register_parameter("x.y", other); }, "REG-3", "\"x.y\"");
  check_refused([&] { root.register_parameter("child", other); }, "REG-4", "\"child\"");
  check_refused([&] { root.register_parameter("again", a); }, "REG-5", "\"a\"");
  check_refused([&] { root.register_parameter("again", b); }, "REG-6", "\"child.inner\"");
  std::vector<std::string> expected{"a", "child.inner"};
  BOOST_TEST(names_of(root) == expected, boost::test_tools::per_element());
  root.register_parameter("other", other);  // a refused one can still be registered rightly
}

BOOST_AUTO_TEST_CASE(REG_7_to_10_a_refused_child_changes_nothing_and_an_attached_one_is_sealed) {
  Open root, child, second;
  Parameter shared(Tensor::zeros({1})), late(Tensor::zeros({1}));
  check_refused([&] { root.register_module("self", root); }, "REG-7");
  root.register_module("child", child);
  check_refused([&] { root.register_module("twice", child); }, "REG-8");
  check_refused([&] { child.register_parameter("late", late); }, "REG-10");
  check_refused([&] { child.register_module("up", root); }, "REG-10");
  Open holder;
  holder.register_parameter("p", shared);
  second.register_parameter("q", shared);
  root.register_module("holder", holder);
  check_refused([&] { root.register_module("second", second); }, "REG-9", "\"q\"");
  BOOST_TEST(names_of(root).size() == 1u);
}

BOOST_AUTO_TEST_CASE(REG_12_a_child_that_died_is_reported_by_name) {
  Open root;
  {
    Open child;
    root.register_module("gone", child);
  }
  check_refused([&] { root.parameters(); }, "REG-12", "\"gone\"");
}

BOOST_AUTO_TEST_CASE(REG_14_a_module_list_owns_its_children_and_refuses_null_and_repetition) {
  Random random(1);
  auto layer = std::make_shared<Linear>(2, 2, random["0"]);
  check_refused([&] { ModuleList<Linear>({layer, nullptr}); }, "REG-14", "null at 1");
  check_refused([&] { ModuleList<Linear>({std::make_shared<Linear>(2, 2, random["a"]), nullptr}); }, "REG-14");
  ModuleList<Linear> list({layer});
  std::weak_ptr<Linear> watched = layer;
  layer.reset();
  BOOST_TEST(!watched.expired());
  std::vector<std::string> expected{"0.weight", "0.bias"};
  BOOST_TEST(names_of(list) == expected, boost::test_tools::per_element());
  auto again = std::make_shared<Linear>(2, 2, random["1"]);
  check_refused([&] { ModuleList<Linear>({again, again}); }, "REG-8");
}

BOOST_AUTO_TEST_CASE(LIFE_1_to_4_identity_survives_moves_and_the_module) {
  ParameterHandle handle;
  {
    Open root;
    Parameter first(Tensor::full({2}, 3));
    const Parameter* address = first.handle().get();
    Parameter moved(std::move(first));
    BOOST_TEST(moved.handle().get() == address);
    root.register_parameter("p", moved);
    Parameter other(Tensor::zeros({2}));
    check_refused([&] { moved = std::move(other); }, "LIFE-4");
    handle = root.parameters()[0].parameter;
    BOOST_TEST((handle == moved.handle()));
    BOOST_TEST(handle.get() == address);
    check_refused([&] { *handle = Parameter(Tensor::zeros({2})); }, "LIFE-4");
  }
  BOOST_TEST(handle->value().read<float>()[1] == 3);
  BOOST_TEST((handle->handle() == handle));
}

BOOST_AUTO_TEST_CASE(LIFE_7_set_value_writes_once_and_drops_the_gradient) {
  Parameter parameter(Tensor::zeros({2}));
  parameter.set_gradient(Tensor::full({2}, 1));
  std::uint64_t version = parameter.value().version();
  parameter.set_value(Tensor::full({2}, 5));
  BOOST_TEST(parameter.value().version() == version + 1);
  BOOST_TEST(!parameter.has_pending_gradient());
  check_refused([&] { parameter.set_value(Tensor::zeros({3})); }, "ACC-4");
}

BOOST_AUTO_TEST_CASE(XFER_1_and_5_a_round_trip_keeps_the_bits_and_makes_old_graphs_stale) {
  Random random(1);
  Mlp model({3, 4, 2}, Activation::relu, 0, random);
  std::vector<Tensor> before;
  for (const NamedParameter& entry : model.parameters())
    before.push_back(Tensor::from(entry.parameter->value().read<float>().span(), entry.parameter->value().shape()));
  Variable loss = model.forward(drawn({2, 3}, 1));
  model.to(reference_device);
  BOOST_TEST((model.parameters()[0].parameter->value().dtype() == Dtype::float64));
  check_refused([&] { loss.backward(Tensor::full({2, 2}, 1)); }, "GRAPH-5");
  model.to(cpu);
  for (std::size_t i = 0; i < before.size(); ++i)
    check_same_bits(before[i], model.parameters()[i].parameter->value(), model.parameters()[i].name);
}

BOOST_AUTO_TEST_CASE(ORD_5_scope_paths_are_the_dotted_names_and_a_new_layer_leaves_other_initial_values_alone) {
  Random random(7), longer(7);
  Mlp two({5, 4, 3}, Activation::relu, 0.5, random), three({5, 4, 3, 2}, Activation::relu, 0.5, longer);
  std::vector<std::string> streams;
  for (const auto& stream : random.streams()) streams.push_back(stream->name());
  std::vector<std::string> expected{"fc1.weight", "dropout1", "fc2.weight"};
  BOOST_TEST(streams == expected, boost::test_tools::per_element());
  for (std::size_t i = 0; i < 4; ++i)
    check_same_bits(two.parameters()[i].parameter->value(), three.parameters()[i].parameter->value(),
                    two.parameters()[i].name);
}

BOOST_AUTO_TEST_SUITE_END()
