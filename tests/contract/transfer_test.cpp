// Contract of transfers between devices: all of a tree or nothing of it.
#include <bit>

#include "autograd/ops.hpp"
#include "models/mlp.hpp"
#include "support/contract.hpp"
#include "support/observed.hpp"

using namespace assay;
using namespace assay::test;

namespace {

Device another_than(Device device) { return device == cpu ? simulated : cpu; }

/// A small model on a device, each parameter with a gradient.
struct Trained {
  explicit Trained(Device device) : model((Random(3)), device) {
    Variable x = drawn({5, 4}, 1, -1, 1, device);
    sum(model.net.forward(x)).backward();
  }
  struct Model {
    Model(const Random& random, Device device) : net({4, 3, 2}, Activation::relu, 0, random) { net.to(device); }
    Mlp net;
  } model;
  ParameterList list = model.net.parameters();
};

}  // namespace

CONTRACT(XFER_1_a_whole_model_moves_and_its_gradients_are_zero_afterwards) {
  Trained trained(device);
  std::vector<std::string> before;
  for (const NamedParameter& entry : trained.list) before.push_back(bits_of(entry.parameter->value().to(cpu)));
  trained.model.net.to(another_than(device));
  for (std::size_t i = 0; i < trained.list.size(); ++i) {
    const Parameter& parameter = *trained.list[i].parameter;
    BOOST_TEST(to_string(parameter.value().device()) == to_string(another_than(device)));
    BOOST_TEST(bits_of(parameter.value().to(cpu)) == before[i]);
    BOOST_TEST(!parameter.has_pending_gradient());
    for (double element : doubles(parameter.gradient())) BOOST_TEST(element == 0);
  }
}

CONTRACT(XFER_2_a_failure_at_any_allocation_copy_or_launch_leaves_the_whole_tree_as_it_was) {
  for (DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch}) {
    for (Device where : {device, another_than(device)}) {
      Trained trained(device);
      int failures = check_atomic_under_faults(
          where, action, [&] { trained.model.net.to(another_than(device)); }, [&] { return observe(trained.list); },
          "transfer to " + to_string(another_than(device)));
      if (action != DeviceAction::launch && where == another_than(device))
        BOOST_TEST(failures >= 4, "only " << failures << " actions of " << to_string(where) << " could fail");
    }
  }
}

CONTRACT(XFER_3_what_is_there_already_is_left_untouched_with_its_gradient) {
  Trained trained(device);
  Observed before = observe(trained.list);
  trained.model.net.to(device);
  check_unchanged(before, observe(trained.list), "transfer to where it is");
  const Tensor kept = trained.list[0].parameter->value();
  move_parameters_to({trained.list[1]}, another_than(device));
  BOOST_TEST(trained.list[0].parameter->value().shares_storage_with(kept));
  BOOST_TEST(trained.list[0].parameter->has_pending_gradient());
}

CONTRACT(XFER_4_a_moved_parameter_has_the_next_version_and_graphs_built_before_are_stale) {
  Trained trained(device);
  Parameter& weight = *trained.list[0].parameter;
  std::uint64_t version = weight.value().version();
  Variable y = sum(multiply(weight.variable(), weight.variable()));
  trained.model.net.to(another_than(device));
  BOOST_TEST(weight.value().version() == version + 1);
  check_refused([&] { y.backward(); }, "GRAPH-5");
}

CONTRACT(XFER_5_values_survive_a_round_trip_bit_for_bit) {
  std::vector<float> patterns;
  for (std::uint32_t i = 0; i < 4096; ++i) patterns.push_back(std::bit_cast<float>(i * 1048583u + (i << 31)));
  Parameter parameter(Tensor::from(patterns, {64, 64}, device));
  std::string before = bits_of(parameter.value());
  ParameterList list{{"patterns", parameter.handle()}};
  move_parameters_to(list, another_than(device));
  move_parameters_to(list, device);
  BOOST_TEST(bits_of(parameter.value()) == before);
}

BOOST_AUTO_TEST_CASE(XFER_8_an_unavailable_device_is_refused_with_its_reason) {
  check_refused([] { parse_device("gpu"); }, "XFER-8", "cpu, reference, simulated or cuda");
  const DeviceDescription gpu = describe_devices().back();
  if (gpu.usable) return;
  check_refused([] { parse_device("cuda"); }, "XFER-8", "cuda: " + gpu.detail);
  Trained trained(cpu);
  const Observed before = observe(trained.list);
  check_refused([&] { trained.model.net.to(cuda_device); }, "XFER-8", "cuda: " + gpu.detail);
  check_unchanged(before, observe(trained.list), "a refused device");
}

CONTRACT(XFER_10_memory_after_a_failed_transfer_is_back_to_the_baseline) {
  Trained trained(device);
  const Device target = another_than(device);
  std::uint64_t before = device_counters(target).live_bytes;
  FaultScope fault(target, DeviceAction::copy, 3);
  check_refused([&] { trained.model.net.to(target); }, "RES-6", "fault on demand");
  BOOST_TEST(device_counters(target).live_bytes == before);
}

CONTRACT(XFER_11_null_duplicate_and_unnamed_entries_are_refused_before_anything_moves) {
  Trained trained(device);
  auto refused = [&](NamedParameter extra, const std::string& fragment) {
    ParameterList list = trained.list;
    list.push_back(std::move(extra));
    Observed before = observe(trained.list);
    check_refused([&] { move_parameters_to(list, another_than(device)); }, "OPT-1", fragment);
    check_unchanged(before, observe(trained.list), "a refused list");
  };
  refused({"nothing", {}}, "\"nothing\"");
  refused({"", trained.list[0].parameter}, "empty");
  refused({"again", trained.list[0].parameter}, "\"again\"");
  refused({trained.list[0].name, Parameter(Tensor::zeros({1}, device)).handle()}, "twice");
}
