// Contract of names and order: what `parameters()` lists, and that nothing but registration decides it.
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>

#include "autograd/ops.hpp"
#include "models/mlp.hpp"
#include "support/contract.hpp"
#include "support/modules.hpp"

using namespace assay;
using namespace assay::test;

namespace {

// The two examples of the manual.
class ProjectionPair final : public Module {
 public:
  explicit ProjectionPair(const Random& random) : first_(4, 3, random["first"]), second_(3, 2, random["second"]) {
    register_module("first", first_);
    register_module("second", second_);
  }
  Variable forward(const Variable& x) const { return second_.forward(first_.forward(x)); }

 private:
  Linear first_, second_;
};

class Classifier final : public Module {
 public:
  explicit Classifier(const Random& random) : fc1_(4, 3, random["fc1"]), fc2_(3, 2, random["fc2"]) {
    register_module("fc1", fc1_);
    register_module("fc2", fc2_);
  }
  Variable forward(const Variable& x) const { return fc2_.forward(fc1_.forward(x, {.relu = true})); }

 private:
  Linear fc1_, fc2_;
};

/// Twelve parameters in three modules, registered in another order than they were made in, under names that sort
/// otherwise.
struct Scrambled {
  explicit Scrambled(Device device) {
    for (int i = 0; i < 12; ++i) made.push_back(std::make_unique<Parameter>(zeros(device)));
    for (int i = 0; i < 12; ++i) {
      const std::string name = "p" + std::to_string(37 * (i + 1) % 101);
      Open& module = modules[i % 3];
      module.register_parameter(name, *made[static_cast<std::size_t>(7 * i % 12)]);
    }
    root.register_module("z", modules[2]);
    root.register_module("m", modules[0]);
    root.register_module("a", modules[1]);
  }
  std::vector<std::unique_ptr<Parameter>> made;
  Open modules[3], root;
};
const Names scrambled_names{"z.p10", "z.p20", "z.p30", "z.p40", "m.p37", "m.p47",
                            "m.p57", "m.p67", "a.p74", "a.p84", "a.p94", "a.p3"};

/// Runs `body` on a thread with a stack of 512 KiB: too little for ten thousand calls inside one another.
template <class Body>
void on_a_small_stack(Body body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 << 10);
  auto run = [](void* argument) -> void* {
    (*static_cast<Body*>(argument))();
    return nullptr;
  };
  pthread_t thread;
  BOOST_REQUIRE(pthread_create(&thread, &attributes, run, &body) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

CONTRACT(ORD_1_parameters_and_children_interleave_as_registered) {
  Open root, child, inner;
  Parameter a = zeros(device), b = zeros(device), c = zeros(device), d = zeros(device), e = zeros(device);
  inner.register_parameter("y", d);
  child.register_parameter("x", b);
  child.register_module("inner", inner);
  child.register_parameter("a", e);
  root.register_parameter("z", a);
  root.register_module("m", child);
  root.register_parameter("a", c);
  BOOST_TEST(names_of(root) == (Names{"z", "m.x", "m.inner.y", "m.a", "a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ORD_1_ten_thousand_nested_modules_are_built_listed_moved_and_destroyed) {
  constexpr int depth = 10000;
  Parameter bottom(Tensor::full({2}, 3));
  std::size_t entries = 0, characters = 0;
  bool moved = false;
  on_a_small_stack([&] {
    auto root = std::make_shared<Open>();
    root->register_parameter("p", bottom);
    for (int level = 1; level < depth; ++level) {
      auto above = std::make_shared<Open>();
      above->register_module("m", root);
      root = std::move(above);
    }
    ParameterList list = root->parameters();
    entries = list.size();
    characters = list.at(0).name.size();
    root->to(reference_device);
    moved = bottom.value().device() == reference_device;
  });
  BOOST_TEST(entries == 1u);
  BOOST_TEST(characters == 2u * depth - 1);
  BOOST_TEST(moved);
}

CONTRACT(ORD_2_names_are_segments_joined_by_dots) {
  Open root, middle, child;
  Parameter a = zeros(device), b = zeros(device), c = zeros(device);
  child.register_parameter("weight", a);
  middle.register_module("0", child);
  middle.register_parameter("weight", b);
  root.register_module("blocks", middle);
  root.register_parameter("weight", c);
  BOOST_TEST(names_of(root) == (Names{"blocks.0.weight", "blocks.weight", "weight"}), boost::test_tools::per_element());
  BOOST_TEST(names_of(middle) == (Names{"0.weight", "weight"}), boost::test_tools::per_element());
}

CONTRACT(ORD_3_two_calls_give_equal_lists_that_own_what_they_list) {
  auto model = std::make_unique<Scrambled>(device);
  ParameterList first = model->root.parameters(), second = model->root.parameters();
  BOOST_REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    BOOST_TEST(first[i].name == second[i].name);
    BOOST_TEST((first[i].parameter == second[i].parameter));
  }
  std::reverse(first.begin(), first.end());
  first.pop_back();
  BOOST_TEST(names_of(model->root) == scrambled_names, boost::test_tools::per_element());  // the caller's own list
  model.reset();
  for (const NamedParameter& entry : second) BOOST_TEST(entry.parameter->value().size() == 1);
}

CONTRACT(ORD_4_a_tree_that_was_written_over_is_refused) {
  // Another module in the memory of a child that nobody destroyed: no mark tells, only the child's link to its parent.
  alignas(Open) std::byte memory[sizeof(Open)];
  Parameter a = zeros(device);
  auto root = std::make_unique<Open>();
  auto middle = std::make_unique<Open>();
  middle->register_module("child", *new (memory) Open);
  root->register_module("middle", *middle);
  BOOST_TEST(names_of(*root).empty());
  Open* other = new (memory) Open;
  other->register_parameter("a", a);
  const std::string expected = "expected \"middle.child\" below its parent";
  check_refused([&] { root->parameters(); }, "ORD-4", expected);
  check_refused([&] { root->to(reference_device); }, "ORD-4", expected);
  check_refused([&] { root->register_parameter("late", a); }, "ORD-4", expected);
  BOOST_TEST(to_string(a.value().device()) == to_string(device));
  root.reset();
  middle.reset();
  other->~Open();
}

CONTRACT(ORD_5_neither_names_nor_addresses_decide_the_order) {
  Scrambled model(device);
  BOOST_TEST(names_of(model.root) == scrambled_names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ORD_5_two_processes_print_the_same_list) {
  if (const char* path = std::getenv("ASSAY_TEST_LIST")) {
    std::ofstream file(path);
    Scrambled model(cpu);
    for (const std::string& name : names_of(model.root)) file << name << '\n';
    return;
  }
  std::string expected;
  for (const std::string& name : scrambled_names) expected += name + '\n';
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string name = boost::unit_test::framework::current_test_case().p_name;
  char path[] = "/tmp/assay_list_XXXXXX";
  int file = mkstemp(path);
  BOOST_REQUIRE(file >= 0);
  for (int process = 0; process < 2; ++process) {
    const std::string command =
        std::string("ASSAY_TEST_LIST='") + path + "' '" + program + "' --run_test=" + name + " >/dev/null 2>&1";
    BOOST_TEST(std::system(command.c_str()) == 0);
    std::ifstream written(path);
    BOOST_TEST(std::string(std::istreambuf_iterator<char>(written), {}) == expected);
    std::filesystem::resize_file(path, 0);
  }
  std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(ORD_5_scope_paths_are_the_dotted_names_and_a_new_layer_leaves_other_initial_values_alone) {
  Random random(7), longer(7);
  Mlp two({5, 4, 3}, Activation::relu, 0.5, random), three({5, 4, 3, 2}, Activation::relu, 0.5, longer);
  Names streams;
  for (const auto& stream : random.streams()) streams.push_back(stream->name());
  BOOST_TEST(streams == (Names{"fc1.weight", "dropout1", "fc2.weight"}), boost::test_tools::per_element());
  for (std::size_t i = 0; i < 4; ++i)
    check_same_bits(two.parameters()[i].parameter->value(), three.parameters()[i].parameter->value(),
                    two.parameters()[i].name);
}

CONTRACT(ORD_6_a_count_that_does_not_fit_63_bits_is_refused) {
  Open root;
  Tensor one = Tensor::zeros({1}, device);
  Parameter a(one.expand({std::int64_t{1} << 61})), b(one.expand({(std::int64_t{1} << 62) - 1})),
      c(one.expand({std::int64_t{1} << 62}));
  root.register_parameter("a", a);
  root.register_parameter("b", b);
  BOOST_TEST(root.parameter_count() == (std::int64_t{1} << 61) + (std::int64_t{1} << 62) - 1);
  root.register_parameter("c", c);
  check_refused([&] { root.parameter_count(); }, "ORD-6", "more, at \"c\"");
}

BOOST_AUTO_TEST_CASE(ORD_8_the_two_first_examples_of_the_manual_run_and_list_their_parameters) {
  Random random(1);
  ProjectionPair pair(random);
  BOOST_TEST(names_of(pair) == (Names{"first.weight", "first.bias", "second.weight", "second.bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(pair.parameter_count() == 4 * 3 + 3 + 3 * 2 + 2);
  Classifier model(random);
  BOOST_TEST(names_of(model) == (Names{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}),
             boost::test_tools::per_element());
  for (Device device : conformance::devices()) {
    pair.to(device);
    model.to(device);
    Tensor x = drawn({5, 4}, 1, -1, 1, device);
    BOOST_TEST((pair.forward(x).shape() == Shape{5, 2}));
    sum(model.forward(x)).backward();
    for (const NamedParameter& entry : model.parameters())
      BOOST_TEST(entry.parameter->has_pending_gradient(), entry.name);
  }
}
