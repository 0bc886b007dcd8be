// Contract of low-rank adapters.
#include <cmath>
#include <fstream>

#include "autograd/ops.hpp"
#include "models/adapter.hpp"
#include "models/linears.hpp"
#include "models/mlp.hpp"
#include "models/quantised.hpp"
#include "nn/initialisers.hpp"
#include "support/contract.hpp"
#include "support/folder.hpp"
#include "support/modules.hpp"
#include "support/observed.hpp"

using namespace assay;
using namespace assay::test;

namespace {

const LowRankOptions lora_options{.rank = 3, .alpha = 5};

struct Adaptable {
  explicit Adaptable(Device device, std::uint64_t seed = 7) : model({11, 8, 4}, Activation::relu, 0, Random(seed)) {
    model.to(device);
  }
  Linear& layer(std::size_t index) { return *linears_of(model).at(index).linear; }
  LowRankAdapter& adapter(std::size_t index) { return *layer(index).adapter(); }
  /// Adapters of both layers that change the output.
  void adapt() {
    attach_adapters(model, {"fc1", "fc2"}, lora_options, 5);
    std::uint64_t seed = 50;
    for (const NamedParameter& entry : lora_parameters(model))
      entry.parameter->set_value(
          drawn(entry.parameter->value().shape(), ++seed, -1, 1, entry.parameter->value().device()));
  }
  Observed observe_all() {
    ParameterList list = model.parameters();
    for (NamedParameter& entry : lora_parameters(model)) list.push_back(std::move(entry));
    Observed now = assay::test::observe(list);
    for (const NamedParameter& entry : list)
      now.facts.push_back(entry.name + (entry.parameter->frozen() ? " frozen" : " free"));
    for (std::size_t i : {0u, 1u})
      now.facts.push_back(layer(i).adapter() ? (adapter(i).before_merge.defined() ? "merged" : "beside") : "none");
    return now;
  }
  Mlp model;
};

Device far_from(Device device) { return device == cpu ? simulated : cpu; }

Names lora_names(const Module& model) {
  Names names;
  for (const NamedParameter& entry : lora_parameters(model)) names.push_back(entry.name);
  return names;
}

}  // namespace

CONTRACT(LORA_1_attaching_keeps_the_bits_of_the_output_negative_zeros_included) {
  Adaptable adaptable(device);
  const Tensor x = drawn({6, 11}, 1, device), y = adaptable.model.forward(x).value();
  // Products that underflow to −0, and biases of −0.
  Open root;
  auto layer = std::make_shared<Linear>(1, 3, Random(1)["layer"]);
  root.register_module("layer", layer);
  root.to(device);
  root.parameters()[0].parameter->set_value(Tensor::from<float>({-1e-30f, 1e-30f, 1}, {3, 1}, device));
  root.parameters()[1].parameter->set_value(Tensor::from<float>({-0.0f, -0.0f, -0.0f}, {3}, device));
  const Tensor tiny = Tensor::from<float>({1e-30f, -1e-30f}, {2, 1}, device);
  const Tensor zeros = layer->forward(tiny).value();
  BOOST_REQUIRE((std::signbit(zeros.read<float>()[0]) && zeros.read<float>()[0] == 0));
  attach_adapters(adaptable.model, {"fc1", "fc2"}, lora_options, 5);
  attach_adapters(root, {"layer"}, {.rank = 1, .alpha = 1}, 5);
  check_same_bits(y, adaptable.model.forward(x).value(), "an Mlp");
  check_same_bits(zeros, layer->forward(tiny).value(), "zeros");
}

CONTRACT(LORA_1_the_contribution_is_alpha_over_rank_times_both_factors) {
  Adaptable adaptable(device);
  adaptable.adapt();
  const Tensor x = drawn({6, 11}, 1, device);
  auto factor = [](const Parameter& parameter) { return parameter.value().to(reference_device); };
  const Tensor weight = factor(adaptable.layer(0).weight()), down = factor(adaptable.adapter(0).down),
               up = factor(adaptable.adapter(0).up), wide = x.to(reference_device);
  const Variable inner = matmul(wide, transpose(down, 0, 1)),
                 expected =
                     add(matmul(wide, transpose(weight, 0, 1)),
                         multiply(matmul(inner, transpose(up, 0, 1)), Tensor::full({}, 5.0 / 3.0, reference_device)));
  check_close_to_oracle(expected.value(), adaptable.layer(0).forward(x).value(), 8, "a layer");
  check_close_to_oracle(relu(expected).value(), adaptable.layer(0).forward(x, {.relu = true}).value(), 8, "rectified");
  const Variable y = adaptable.layer(0).forward(x);
  y.backward(drawn(y.shape(), 3, device));
  const Variable gradient = matmul(
      transpose(multiply(drawn(y.shape(), 3, reference_device), Tensor::full({}, 5.0 / 3.0, reference_device)), 0, 1),
      inner);
  check_close_to_oracle(gradient.value(), adaptable.adapter(0).up.gradient(), 8, "gradient of up");
}

CONTRACT(LORA_1_what_an_adapter_computes_is_traced_as_its_own) {
  Adaptable adaptable(device);
  attach_adapters(adaptable.model, {"fc2"}, lora_options, 5);
  std::vector<std::string> seen;
  {
    const TraceScope trace([&](const TracedResult& result) { seen.push_back(result.module + "/" + result.operation); });
    adaptable.model.forward(drawn({6, 11}, 1, device));
  }
  const std::vector<std::string> expected{"fc1/linear",        "fc2/linear",         "fc2.adapter/linear",
                                          "fc2.adapter/scale", "fc2.adapter/linear", "fc2.adapter/subtract"};
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

CONTRACT(LORA_2_a_rank_above_the_smaller_width_and_an_alpha_that_is_no_positive_number_are_refused) {
  Adaptable adaptable(device);
  const Observed before = adaptable.observe_all();
  for (std::int64_t rank : {-1, 0, 9})
    check_refused([&] { attach_adapters(adaptable.model, {"fc1"}, {.rank = rank, .alpha = 1}, 5); }, "LORA-2",
                  "a rank from 1 to 8, found " + std::to_string(rank));
  for (double alpha : {0.0, -2.0, double{INFINITY}, double{NAN}})
    check_refused([&] { attach_adapters(adaptable.model, {"fc1"}, {.rank = 2, .alpha = alpha}, 5); }, "LORA-2",
                  "a finite positive alpha");
  check_unchanged(before, adaptable.observe_all(), "refused adapters");
  attach_adapters(adaptable.model, {"fc1"}, {.rank = 8, .alpha = 1}, 5);
}

CONTRACT(LORA_3_attaching_is_all_or_nothing) {
  Adaptable adaptable(device);
  auto refused = [&](const std::string& id, const std::string& fragment, const std::vector<std::string>& names,
                     std::int64_t rank) {
    const Observed before = adaptable.observe_all();
    check_refused([&] { attach_adapters(adaptable.model, names, {.rank = rank, .alpha = 1}, 5); }, id, fragment);
    check_unchanged(before, adaptable.observe_all(), fragment);
  };
  refused("LORA-2", "a rank from 1 to 4, found 6", {"fc1", "fc2"}, 6);
  refused("LORA-3", "a linear layer named \"fc3\"", {"fc1", "fc3"}, 2);
  refused("LORA-3", "the name of a linear layer", {}, 2);
  for (DeviceAction action : {DeviceAction::allocation, DeviceAction::launch}) {
    Adaptable other(device);
    check_atomic_under_faults(
        device, action,
        [&] {
          attach_adapters(other.model, {"fc1", "fc2"}, lora_options, 5);
        },
        [&] { return other.observe_all(); }, "attaching");
    BOOST_TEST(lora_names(other.model).size() == 4u);
  }
  attach_adapters(adaptable.model, {"fc2"}, lora_options, 5);
  refused("LORA-3", "\"fc2\" without an adapter", {"fc1", "fc2"}, 2);
}

CONTRACT(LORA_3_the_order_is_the_models_and_each_layer_has_a_stream_of_its_own) {
  Adaptable first(device), second(device);
  Open root;
  root.register_module("a", first.model);
  root.register_module("b", second.model);
  attach_adapters(root, {"fc2", "a.fc1"}, lora_options, 5);
  const Names expected{"a.fc1.adapter.down", "a.fc1.adapter.up",   "a.fc2.adapter.down",
                       "a.fc2.adapter.up",   "b.fc2.adapter.down", "b.fc2.adapter.up"};
  BOOST_TEST(lora_names(root) == expected, boost::test_tools::per_element());
  // By the names of the streams, whatever else is attached.
  Adaptable alone(device);
  attach_adapters(alone.model, {"fc2"}, lora_options, 5);
  check_same_bits(xavier_uniform({3, 8}, Random(5)["fc2"]["adapter"]["down"]), alone.adapter(1).down.value(),
                  "from the stream fc2.adapter.down");
  check_same_bits(xavier_uniform({3, 8}, Random(5)["a"]["fc2"]["adapter"]["down"]), first.adapter(1).down.value(),
                  "from the stream a.fc2.adapter.down");
  check_same_bits(Tensor::zeros({4, 3}), alone.adapter(1).up.value(), "zeros");
}

CONTRACT(ORD_7_adapters_do_not_enter_the_list_of_parameters_and_have_one_of_their_own) {
  Adaptable adaptable(device);
  const auto before = listed(adaptable.model);
  attach_adapters(adaptable.model, {"fc2"}, lora_options, 5);
  BOOST_TEST((listed(adaptable.model) == before));
  const Names expected{"fc2.adapter.down", "fc2.adapter.up"};
  BOOST_TEST(lora_names(adaptable.model) == expected, boost::test_tools::per_element());
  adaptable.model.to(far_from(device));
  for (const NamedParameter& entry : lora_parameters(adaptable.model))
    BOOST_TEST(to_string(entry.parameter->value().device()) == to_string(far_from(device)), entry.name);
}

CONTRACT(LORA_4_base_parameters_stay_as_they_were_and_frozen_ones_cost_no_gradient) {
  Adaptable adaptable(device);
  const auto before = listed(adaptable.model);
  const Facts facts = facts_of(adaptable.model.parameters());
  adaptable.adapt();
  BOOST_TEST((listed(adaptable.model) == before));
  BOOST_TEST((facts_of(adaptable.model.parameters()) == facts));
  for (const NamedParameter& entry : adaptable.model.parameters()) entry.parameter->freeze();
  auto launches = [&] {
    const std::uint64_t first = device_counters(device).launches;
    sum(adaptable.model.forward(drawn({6, 11}, 1, device))).backward();
    return device_counters(device).launches - first;
  };
  const std::uint64_t frozen = launches();
  for (const NamedParameter& entry : adaptable.model.parameters())
    BOOST_TEST(!entry.parameter->has_pending_gradient(), entry.name);
  for (const NamedParameter& entry : lora_parameters(adaptable.model))
    BOOST_TEST(entry.parameter->has_pending_gradient(), entry.name);
  for (const NamedParameter& entry : adaptable.model.parameters()) entry.parameter->unfreeze();
  for (const NamedParameter& entry : lora_parameters(adaptable.model)) entry.parameter->zero_gradient();
  BOOST_TEST(launches() == frozen + 4);  // a product for each weight, a sum for each bias
}

CONTRACT(LORA_5_merged_weights_take_the_contribution_and_unmerging_restores_the_saved_bits) {
  Adaptable adaptable(device);
  adaptable.adapt();
  const Tensor x = drawn({6, 11}, 1, device), beside = adaptable.model.forward(x).value();
  const Facts values{bits_of(adaptable.layer(0).weight().value()), bits_of(adaptable.layer(1).weight().value())};
  const Variable stale = adaptable.model.forward(x);
  merge(adaptable.model);
  BOOST_TEST(adaptable.model.parameters().size() == 4u);
  check_close_to_oracle(beside, adaptable.model.forward(x).value(), 64, "the output of merged weights");
  const Tensor dense =
      linear(x, adaptable.layer(0).weight().value(), Tensor(adaptable.model.parameters()[1].parameter->value()))
          .value();
  check_same_bits(dense, adaptable.layer(0).forward(x).value(), "a merged layer is a dense one");
  check_refused([&] { stale.backward(drawn(stale.shape(), 1, device)); }, "GRAPH-5");
  check_refused([&] { merge(adaptable.model); }, "LORA-5", "a merged one");
  check_refused([&] { quantise(adaptable.model, {"fc1"}); }, "NF4-4", "a merged adapter");
  adaptable.model.to(far_from(device));
  adaptable.model.to(device);
  unmerge(adaptable.model);
  BOOST_TEST(
      (Facts{bits_of(adaptable.layer(0).weight().value()), bits_of(adaptable.layer(1).weight().value())} == values));
  check_same_bits(beside, adaptable.model.forward(x).value(), "the output after unmerging");
  check_refused([&] { unmerge(adaptable.model); }, "LORA-5", "one beside the weight");
}

CONTRACT(LORA_5_a_merge_that_cannot_be_done_everywhere_is_done_nowhere) {
  Adaptable adaptable(device), bare(device);
  check_refused([&] { merge(bare.model); }, "LORA-5", "found none");
  check_refused([&] { unmerge(bare.model); }, "LORA-5", "found none");
  adaptable.adapt();
  auto refused = [&](const std::string& fragment) {
    const Observed before = adaptable.observe_all();
    check_refused([&] { merge(adaptable.model); }, "LORA-5", fragment);
    check_unchanged(before, adaptable.observe_all(), fragment);
  };
  const Tensor up = adaptable.adapter(1).up.value();
  const std::vector<float> values(up.read<float>().begin(), up.read<float>().end());
  adaptable.adapter(1).up.set_value(Tensor::full(up.shape(), 3e38, device));
  refused("merge \"fc2\": expected finite weights");
  adaptable.adapter(1).up.set_value(Tensor::from(values, up.shape(), device));
  for (DeviceAction action : {DeviceAction::allocation, DeviceAction::launch}) {
    check_atomic_under_faults(
        device, action, [&] { merge(adaptable.model); }, [&] { return adaptable.observe_all(); }, "merging");
    unmerge(adaptable.model);
  }
  quantise(adaptable.model, {"fc2"});
  refused("merge \"fc2\": expected a dense weight");
}

CONTRACT(LORA_6_a_file_of_adapters_alone_fits_the_base_that_it_names_and_no_other) {
  const Folder folder;
  for (bool packed : {false, true}) {
    const std::string path = folder / "adapters.h5";
    Adaptable source(device), target(device), other(device, 8);
    if (packed)
      for (Adaptable* one : {&source, &target, &other}) quantise(one->model, {"fc1"});
    check_refused([&] { save_adapters(path, source.model); }, "LORA-6", "adapters.h5");
    source.adapt();
    save_adapters(path, source.model);
    load_adapters(path, target.model);
    const Tensor x = drawn({6, 11}, 1, device);
    check_same_bits(source.model.forward(x).value(), target.model.forward(x).value(), "adapters of a file");
    const ParameterList saved = lora_parameters(source.model), loaded = lora_parameters(target.model);
    BOOST_REQUIRE(loaded.size() == saved.size());
    for (std::size_t i = 0; i < saved.size(); ++i)
      check_same_bits(saved[i].parameter->value(), loaded[i].parameter->value(), loaded[i].name);
    BOOST_TEST(target.adapter(0).alpha() == 5);
    check_refused([&] { load_adapters(path, target.model); }, "LORA-3", "one that has it");

    const Observed before = other.observe_all();
    check_refused([&] { load_adapters(path, other.model); }, "LORA-6",
                  "adapters of the base with digest " + base_digest(other.model));
    check_unchanged(before, other.observe_all(), "adapters of another base");
    {
      Adaptable far(device);
      if (packed) quantise(far.model, {"fc1"});
      far.model.to(reference_device);
      BOOST_TEST(base_digest(far.model) == base_digest(source.model));
    }
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(700);
      file.put('x');
    }
    check_refused([&] { load_adapters(path, other.model); }, "FILE-6", "adapters.h5");
    check_unchanged(before, other.observe_all(), "a damaged file");
    if (packed) continue;
    merge(source.model);
    check_refused([&] { save_adapters(path, source.model); }, "LORA-5", "no merged adapter");
  }
}
