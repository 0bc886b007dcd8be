// Contract of identity and lifetime: one state behind wrappers, handles and lists, and who keeps it alive.
#include <memory>

#include "autograd/ops.hpp"
#include "device/counters.hpp"
#include "optim/sgd.hpp"
#include "support/contract.hpp"
#include "support/modules.hpp"

using namespace assay;
using namespace assay::test;

namespace {

std::vector<double> value_of(const Parameter& parameter) { return doubles(parameter.value()); }

/// A parameter of two elements with a pending gradient.
Parameter trained(Device device) {
  Parameter parameter(Tensor::full({2}, 3, device));
  parameter.set_gradient(Tensor::full({2}, 1, device));
  return parameter;
}

const std::vector<double> ones{1, 1}, zero{0, 0};

}  // namespace

CONTRACT(LIFE_1_moving_a_parameter_keeps_its_identity_and_leaves_nothing_to_use_behind) {
  static_assert(!std::is_copy_constructible_v<Parameter> && !std::is_copy_assignable_v<Parameter>);
  static_assert(std::is_nothrow_move_constructible_v<Parameter>);
  Parameter first = trained(device);
  const Parameter* address = first.handle().get();
  const Variable leaf = first.variable();
  const std::uint64_t version = first.value().version();
  Parameter moved(std::move(first));
  BOOST_TEST(moved.handle().get() == address);
  BOOST_TEST((moved.variable() == leaf));
  BOOST_TEST(moved.value().version() == version);
  BOOST_TEST(doubles(moved.gradient()) == ones, boost::test_tools::per_element());

  Open root;
  Tensor value = zeros(device, 2).value();
  const std::string found = "moved from";
  check_refused([&] { first.value(); }, "LIFE-1", found);
  check_refused([&] { first.variable(); }, "LIFE-1", found);
  check_refused([&] { first.gradient(); }, "LIFE-1", found);
  check_refused([&] { first.has_pending_gradient(); }, "LIFE-1", found);
  check_refused([&] { first.set_value(value); }, "LIFE-1", found);
  check_refused([&] { first.replace_value(value); }, "LIFE-1", found);
  check_refused([&] { first.set_gradient(value); }, "LIFE-1", found);
  check_refused([&] { first.zero_gradient(); }, "LIFE-1", found);
  check_refused([&] { first.freeze(); }, "LIFE-1", found);
  check_refused([&] { first.unfreeze(); }, "LIFE-1", found);
  check_refused([&] { first.frozen(); }, "LIFE-1", found);
  check_refused([&] { first.handle(); }, "LIFE-1", found);
  check_refused_and_unchanged(
      root, [&] { root.register_parameter("p", first); }, "LIFE-1", found);
  Parameter nothing(std::move(first));  // moving nothing gives nothing
  check_refused([&] { nothing.value(); }, "LIFE-1", found);
  first = std::move(moved);
  BOOST_TEST(first.handle().get() == address);
}

CONTRACT(LIFE_2_a_handle_keeps_its_parameter_alive) {
  const std::uint64_t before = device_counters(device).live_bytes;
  {
    ParameterHandle handle;
    {
      auto module = std::make_unique<Open>();
      Parameter parameter = trained(device);
      module->register_parameter("p", parameter);
      handle = parameter.handle();
    }
    BOOST_REQUIRE(device_counters(device).live_bytes > before);
    BOOST_TEST(value_of(*handle)[1] == 3);
    BOOST_TEST(doubles(handle->gradient()) == ones, boost::test_tools::per_element());
    BOOST_TEST((handle->handle() == handle));
  }
  BOOST_TEST(device_counters(device).live_bytes == before);
  check_refused([&] { ParameterHandle()->value(); }, "LIFE-2", "one of nothing");
  BOOST_TEST(!ParameterHandle().get());
}

CONTRACT(LIFE_3_all_handles_of_one_state_are_equal_and_give_one_address) {
  Parameter parameter = zeros(device), other = zeros(device);
  ParameterHandle first = parameter.handle(), second = parameter.handle(), third = first->handle();
  Parameter moved(std::move(parameter));
  for (const ParameterHandle& handle : {second, third, moved.handle()}) {
    BOOST_TEST((handle == first));
    BOOST_TEST(handle.get() == first.get());
    BOOST_TEST(&*handle == first.get());
  }
  BOOST_TEST((other.handle() != first));
  BOOST_TEST(other.handle().get() != first.get());
  BOOST_TEST((ParameterHandle() != first));
}

CONTRACT(LIFE_4_a_registered_parameter_is_neither_assigned_nor_emptied) {
  Open root;
  Parameter registered = trained(device);
  root.register_parameter("p", registered);
  const Parameter* address = registered.handle().get();
  Parameter other = zeros(device, 2);
  check_refused([&] { registered = std::move(other); }, "LIFE-4", "a registered one");
  check_refused([&] { std::swap(registered, other); }, "LIFE-4", "a registered one");
  BOOST_TEST(registered.handle().get() == address);
  BOOST_TEST(value_of(other) == zero, boost::test_tools::per_element());  // a refused assignment takes nothing

  // Emptied, it could be assigned afterwards: the module would list one state and compute with another.
  Parameter second(std::move(registered));
  BOOST_TEST(second.handle().get() == address);
  BOOST_TEST(value_of(registered)[0] == 3);
  check_refused([&] { registered = std::move(other); }, "LIFE-4", "a registered one");
  check_refused([&] { second = std::move(other); }, "LIFE-4", "a registered one");
  registered = std::move(second);  // the same state
  BOOST_TEST(root.parameters()[0].parameter.get() == registered.handle().get());

  std::vector<Parameter> members;  // a vector that grows moves its registered elements
  Open module;
  for (int i = 0; i < 9; ++i)
    module.register_parameter(std::to_string(i), members.emplace_back(Tensor::full({}, i, device)));
  for (std::size_t i = 0; i < 9; ++i)
    BOOST_TEST((module.parameters()[i].parameter == members[i].handle()), "element " << i);
}

CONTRACT(LIFE_4_the_parameter_behind_a_handle_is_neither_assigned_nor_emptied) {
  Parameter parameter = trained(device), other = zeros(device, 2);
  ParameterHandle handle = parameter.handle();
  ParameterList list{{"p", handle}};
  check_refused([&] { *handle = std::move(other); }, "LIFE-4", "a handle's");
  check_refused([&] { *list[0].parameter = std::move(other); }, "LIFE-4", "a handle's");
  BOOST_TEST(value_of(other) == zero, boost::test_tools::per_element());
  Parameter second(std::move(*handle));
  other = std::move(*handle);
  BOOST_TEST(value_of(*handle)[0] == 3);
  BOOST_TEST((second.handle() == handle));
  BOOST_TEST((other.handle() == handle));
}

CONTRACT(LIFE_5_the_pointer_of_an_entry_is_its_handles_and_valid_while_anybody_holds_the_state) {
  Parameter* pointer = nullptr;
  auto check_alive = [&](const char* holder, const std::uint64_t baseline) {
    BOOST_REQUIRE_MESSAGE(device_counters(device).live_bytes > baseline, holder << " does not hold the parameter");
    BOOST_TEST(value_of(*pointer)[0] == 3, holder);
  };
  const std::uint64_t baseline = device_counters(device).live_bytes;
  {
    auto wrapper = std::make_unique<Parameter>(trained(device));
    auto module = std::make_unique<Open>();
    module->register_parameter("p", *wrapper);
    ParameterList list = module->parameters(), copy = list;
    BOOST_TEST(list[0].parameter.get() == copy[0].parameter.get());
    BOOST_TEST(list[0].parameter.get() == wrapper->handle().get());
    pointer = list[0].parameter.get();
    copy.clear();
    auto optimiser = std::make_unique<Sgd>(list, SgdOptions{});
    wrapper.reset();
    list.clear();
    optimiser.reset();
    check_alive("the module", baseline);
    list = module->parameters();
    module.reset();
    check_alive("the list", baseline);
    ParameterHandle handle = list[0].parameter;
    list.clear();
    check_alive("the handle", baseline);
    BOOST_TEST(pointer == handle.get());
    optimiser = std::make_unique<Sgd>(ParameterList{{"p", handle}}, SgdOptions{});
    handle = {};
    check_alive("the optimiser", baseline);
  }
  BOOST_TEST(device_counters(device).live_bytes == baseline);
}

CONTRACT(LIFE_6_an_optimiser_with_a_copied_list_outlives_module_wrapper_and_first_list) {
  const std::uint64_t baseline = device_counters(device).live_bytes;
  std::unique_ptr<Sgd> optimiser;
  {
    Open module;
    Parameter parameter = trained(device);
    module.register_parameter("p", parameter);
    ParameterList list = module.parameters();
    optimiser = std::make_unique<Sgd>(ParameterList(list), SgdOptions{});
  }
  BOOST_REQUIRE(device_counters(device).live_bytes > baseline);
  optimiser->step(0.5);
  BOOST_TEST(value_of(*optimiser->parameters()[0].parameter)[1] == 2.5);
}

CONTRACT(LIFE_7_set_value_is_one_write_that_drops_the_gradient) {
  Parameter parameter = trained(device);
  const Tensor tensor = parameter.value();
  const std::uint64_t version = tensor.version();
  parameter.set_value(Tensor::full({2}, 5, device));
  BOOST_TEST(parameter.value().shares_storage_with(tensor));
  BOOST_TEST(tensor.version() == version + 1);
  BOOST_TEST(value_of(parameter)[0] == 5);
  BOOST_TEST(!parameter.has_pending_gradient());
  BOOST_TEST(doubles(parameter.gradient()) == zero, boost::test_tools::per_element());

  parameter.set_gradient(Tensor::full({2}, 1, device));
  auto refused = [&](const Tensor& value, const std::string& id, const std::string& fragment) {
    check_refused([&] { parameter.set_value(value); }, id, fragment);
    BOOST_TEST(tensor.version() == version + 1);
    BOOST_TEST(value_of(parameter)[0] == 5);
    BOOST_TEST(doubles(parameter.gradient()) == ones, boost::test_tools::per_element());
  };
  refused(Tensor::zeros({3}, device), "ACC-4", "found float32 [3]");
  refused(Tensor::zeros({2}, reference_device), "ACC-4", "on reference");
  refused(Tensor::from<std::int32_t>({1, 2}, {2}, device), "ACC-4", "found int32");
  refused(Tensor(), "ACC-9", "without");
}

CONTRACT(LIFE_7_set_value_takes_a_view_of_the_value_itself) {
  std::vector<float> values, expected;
  for (int i = 0; i < 64 * 64; ++i) {
    values.push_back(static_cast<float>(i));
    expected.push_back(static_cast<float>(i % 64 * 64 + i / 64));
  }
  Parameter square(Tensor::from(values, {64, 64}, device));
  square.set_value(square.value().transpose(0, 1));
  check_same_bits(Tensor::from(expected, {64, 64}, device), square.value(), "transposed in place");
}

CONTRACT(LIFE_7_a_committed_edit_keeps_the_gradient) {
  Parameter parameter = trained(device);
  const std::uint64_t version = parameter.value().version();
  Tensor tensor = parameter.value();
  auto lease = tensor.edit<float>();
  lease[1] = 7;
  lease.commit();
  BOOST_TEST(value_of(parameter)[1] == 7);
  BOOST_TEST(parameter.value().version() == version + 1);
  BOOST_TEST(parameter.has_pending_gradient());
  BOOST_TEST(doubles(parameter.gradient()) == ones, boost::test_tools::per_element());
}

CONTRACT(LIFE_8_zero_gradient_touches_neither_value_nor_version) {
  Parameter parameter = trained(device);
  const Tensor tensor = parameter.value();
  const std::uint64_t version = tensor.version();
  Variable loss = sum(multiply(parameter.variable(), parameter.variable()));
  parameter.zero_gradient();
  BOOST_TEST(!parameter.has_pending_gradient());
  BOOST_TEST(doubles(parameter.gradient()) == zero, boost::test_tools::per_element());
  BOOST_TEST(parameter.value().shares_storage_with(tensor));
  BOOST_TEST(tensor.version() == version);
  loss.backward();  // a graph from before is not stale
  BOOST_TEST(doubles(parameter.gradient())[0] == 6);
}

CONTRACT(LIFE_9_a_gradient_of_exact_zeros_is_pending) {
  Parameter reached = zeros(device, 2), unreached = zeros(device, 2);
  BOOST_TEST(!reached.has_pending_gradient());
  sum(multiply(reached.variable(), Tensor::zeros({2}, device))).backward();
  BOOST_TEST(reached.has_pending_gradient());
  BOOST_TEST(doubles(reached.gradient()) == zero, boost::test_tools::per_element());
  BOOST_TEST(!unreached.has_pending_gradient());
}

CONTRACT(LIFE_10_a_parameter_requires_a_gradient_from_birth_and_updates_are_not_recorded) {
  Parameter parameter = zeros(device, 2);
  BOOST_REQUIRE(parameter.variable().requires_gradient());
  const Variable leaf = parameter.variable();
  auto gradient_of_sum = [&] {
    parameter.zero_gradient();
    sum(parameter.variable()).backward();
    return doubles(parameter.gradient());
  };
  Sgd optimiser({{"p", parameter.handle()}}, {});
  gradient_of_sum();
  optimiser.step(1);
  BOOST_TEST((parameter.variable() == leaf));
  BOOST_TEST(gradient_of_sum() == ones, boost::test_tools::per_element());

  parameter.set_value(multiply(parameter.variable(), Tensor::full({2}, 2, device)).value());
  BOOST_TEST(value_of(parameter)[0] == -2);
  BOOST_TEST((parameter.variable() == leaf));
  BOOST_TEST(gradient_of_sum() == ones, boost::test_tools::per_element());  // and not 2, through the old value

  parameter.replace_value(Tensor::full({2}, 4, device));
  BOOST_TEST((parameter.variable() == leaf));
  BOOST_TEST(gradient_of_sum() == ones, boost::test_tools::per_element());
}

CONTRACT(LIFE_11_new_graphs_take_a_frozen_parameter_as_data_and_old_ones_keep_what_they_were) {
  Open root;
  Parameter frozen = trained(device), other = zeros(device, 2);
  root.register_parameter("frozen", frozen);
  root.register_parameter("other", other);
  Variable before = sum(frozen.variable());
  frozen.freeze();
  frozen.freeze();  // as often as one likes
  BOOST_TEST(frozen.frozen());
  BOOST_TEST(root.parameters()[0].parameter->frozen());
  BOOST_TEST(names_of(root) == (Names{"frozen", "other"}), boost::test_tools::per_element());
  BOOST_TEST(value_of(frozen)[0] == 3);
  BOOST_TEST(doubles(frozen.gradient()) == ones, boost::test_tools::per_element());  // what was pending stays

  std::vector<bool> asked;
  Variable y = custom_gradient("probe", other.value(), {frozen.variable(), other.variable()},
                               [&](const Tensor& upstream, const std::vector<bool>& needed) {
                                 asked = needed;
                                 return std::vector{Tensor(), upstream};
                               });
  sum(y).backward();
  BOOST_TEST(asked == (std::vector<bool>{false, true}), boost::test_tools::per_element());
  BOOST_TEST(other.has_pending_gradient());
  BOOST_TEST(doubles(frozen.gradient()) == ones, boost::test_tools::per_element());
  BOOST_TEST(!sum(frozen.variable()).requires_gradient());

  before.backward();
  BOOST_TEST(doubles(frozen.gradient()) == (std::vector<double>{2, 2}), boost::test_tools::per_element());
  Variable with_data = sum(multiply(frozen.variable(), other.variable()));
  frozen.unfreeze();
  BOOST_TEST(!frozen.frozen());
  BOOST_REQUIRE(frozen.variable().requires_gradient());
  with_data.backward();  // built while it was frozen
  BOOST_TEST(doubles(frozen.gradient()) == (std::vector<double>{2, 2}), boost::test_tools::per_element());
  sum(frozen.variable()).backward();
  BOOST_TEST(doubles(frozen.gradient()) == (std::vector<double>{3, 3}), boost::test_tools::per_element());
}

CONTRACT(LIFE_11_a_frozen_parameter_is_written_and_moved_and_older_graphs_are_then_stale) {
  Parameter frozen = zeros(device, 2), other = zeros(device, 2);
  frozen.freeze();
  auto graph = [&] { return sum(multiply(frozen.variable(), other.variable())); };
  Variable loss = graph();
  frozen.set_value(Tensor::full({2}, 5, device));
  check_refused([&] { loss.backward(); }, "GRAPH-5", "operand 0");
  BOOST_TEST(doubles(frozen.variable().value())[0] == 5);
  loss = graph();
  move_parameters_to({{"frozen", frozen.handle()}}, reference_device);
  BOOST_TEST(to_string(frozen.variable().value().device()) == "reference");
  BOOST_TEST(frozen.frozen());
  check_refused([&] { loss.backward(); }, "GRAPH-5", "operand 0");
  BOOST_TEST(!other.has_pending_gradient());
}
