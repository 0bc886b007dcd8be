// Runs that start from another model: its values, adapters beside them, weights of 4 bits.
#include <boost/test/unit_test.hpp>

#include "checkpoint/gpt2_names.hpp"
#include "checkpoint/run_checkpoint.hpp"
#include "checkpoint/safetensors.hpp"
#include "compare/comparison.hpp"
#include "files_support.hpp"
#include "harness/model.hpp"
#include "harness/run.hpp"
#include "harness/training.hpp"
#include "models/stored_tensor.hpp"
#include "support/tensors.hpp"
#include "support/training.hpp"

namespace {

using namespace assay;
using test::check_refused;
using test::Folder;

/// A decoder that was trained for a few steps, and how to start from it.
struct TrainedBase {
  Folder folder;
  std::string toml = folder / "text.toml", base = folder / "base", tuned = folder / "tuned";
  const std::vector<std::string> adapters{"model.base=" + base, "adapter.layers=['query', 'value']", "adapter.rank=2"};
  std::vector<std::string> packed = adapters;

  TrainedBase() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "the cat sat on the mat, and the dog lay on log " + std::to_string(i) + ".\n";
    files_test::put_bytes(folder / "text.txt", text);
    files_test::put_bytes(toml,
                          "data = { kind = 'text', path = '" + folder / "text.txt" + R"(', context = 8, test = 20 }
      model = { kind = 'decoder', width = 16, heads = 2, blocks = 2, hidden = 32, dropout = 0.1 }
      optimiser = { learning_rate = 0.01 }
      train = { batch = 8, epochs = 0, steps = 6 }
      checkpoint = { every = 3, keep = 4 }
    )");
    packed.push_back("quantise.layers=['query', 'value', 'expand']");
    run_experiment({.source = toml, .out = base});
  }
  Configuration configuration(std::vector<std::string> overrides) const {
    return load_configuration(toml, std::move(overrides));
  }
};

std::vector<NamedArray> values_of(const std::string& run) { return dense_parameters(checkpoint_of(run), run); }

const Array& array_named(const std::vector<NamedArray>& arrays, const std::string& name) {
  for (const NamedArray& entry : arrays)
    if (entry.name == name) return entry.array;
  throw std::out_of_range(name);
}

BOOST_FIXTURE_TEST_SUITE(harness_base, TrainedBase)

BOOST_AUTO_TEST_CASE(RUN_7_a_run_starts_with_the_values_of_its_base) {
  const std::vector<NamedArray> values = values_of(base);
  const auto starts_with_them = [&](const std::string& source) {
    const Configuration from = configuration({"model.base=" + source});
    const Datasets data = load_inputs(from);
    const Checkpoint start = Training(from, data).checkpoint();
    BOOST_REQUIRE(start.parameters.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      BOOST_TEST(start.parameters[i].name == values[i].name);
      BOOST_TEST((start.parameters[i].value == values[i].array), source << ": " << values[i].name);
    }
  };
  starts_with_them(base);
  starts_with_them(checkpoint_path(base + "/checkpoints", 6));
  save_safetensors(folder / "own.safetensors", {.arrays = values});
  starts_with_them(folder / "own.safetensors");

  std::vector<NamedArray> without_bias = values;  // GPT-2's head has none
  for (NamedArray& entry : without_bias)
    if (entry.name == "language_model_head.bias") entry.array = Array::of<float>(std::vector<float>(256, 0.0f), {256});
  save_safetensors(folder / "gpt2.safetensors", {.arrays = to_gpt2_names(without_bias)});
  const Configuration from = configuration({"model.base=" + folder / "gpt2.safetensors"});
  const Datasets data = load_inputs(from);
  const Checkpoint start = Training(from, data).checkpoint();
  for (std::size_t i = 0; i < without_bias.size(); ++i)
    BOOST_TEST((start.parameters[i].value == without_bias[i].array), without_bias[i].name);
}

BOOST_AUTO_TEST_CASE(RUN_7_with_adapters_they_alone_are_trained_and_kept) {
  const std::vector<NamedArray> base_values = values_of(base);
  for (const auto& overrides : {adapters, packed}) {
    std::filesystem::remove_all(tuned);
    const RunOutcome outcome = run_experiment({.source = toml, .overrides = overrides, .out = tuned});
    const Checkpoint state = checkpoint_of(tuned);
    std::vector<std::string> names;
    for (const StoredParameter& entry : state.parameters) names.push_back(entry.name);
    const std::vector<std::string> expected{
        "blocks.0.attention.query.adapter.down", "blocks.0.attention.query.adapter.up",
        "blocks.0.attention.value.adapter.down", "blocks.0.attention.value.adapter.up",
        "blocks.1.attention.query.adapter.down", "blocks.1.attention.query.adapter.up",
        "blocks.1.attention.value.adapter.down", "blocks.1.attention.value.adapter.up"};
    BOOST_TEST(names == expected, boost::test_tools::per_element());

    const Configuration same = configuration(overrides);
    const Datasets data = load_inputs(same);
    Training start(same, data), training(same, data);
    training.restore(state);
    BOOST_TEST(training.evaluate(data.test).loss == outcome.test_loss);
    BOOST_TEST(start.evaluate(data.test).loss != outcome.test_loss, "something was learned");

    if (overrides == adapters)
      for (const NamedParameter& entry : load_decoder(state, tuned)->parameters())
        BOOST_TEST((stored<float>(entry.parameter->value()) == array_named(base_values, entry.name)), entry.name);

    // Merged weights compute what the run did, but for rounding.
    Configuration merged = configuration({});
    const Datasets plain = load_inputs(merged);
    save_safetensors(folder / "merged.safetensors", {.arrays = dense_parameters(state, tuned)});
    merged = configuration({"model.base=" + folder / "merged.safetensors"});
    BOOST_TEST(Training(merged, plain).evaluate(plain.test).loss == outcome.test_loss,
               boost::test_tools::tolerance(1e-5));
  }
}

BOOST_AUTO_TEST_CASE(RUN_7_the_bits_of_adapters_are_the_same_on_devices_and_after_a_resume) {
  run_experiment({.source = toml, .overrides = packed, .out = tuned});
  std::vector<std::string> elsewhere = packed;
  elsewhere.push_back("run.device=simulated");
  run_experiment({.source = toml, .overrides = elsewhere, .out = folder / "simulated"});
  BOOST_TEST(compare_runs(tuned, folder / "simulated", Policy{}).holds);

  std::filesystem::remove(checkpoint_path(tuned + "/checkpoints", 6));
  run_experiment({.source = tuned, .resume = true});
  BOOST_TEST(compare_runs(tuned, folder / "simulated", Policy{}).holds);
}

BOOST_AUTO_TEST_CASE(RUN_3_a_run_is_not_repeated_or_resumed_on_another_base) {
  run_experiment({.source = toml, .overrides = adapters, .out = tuned});
  std::filesystem::remove_all(base);
  run_experiment({.source = toml, .overrides = {"experiment.seed=9"}, .out = base});
  const std::string expected = tuned + ": model.base: expected SHA-256 ";
  check_refused([&] { run_experiment({.source = tuned, .resume = true}); }, "RUN-3", expected);
  check_refused([&] { run_experiment({.source = tuned, .out = folder / "again"}); }, "RUN-3", expected);
  BOOST_TEST(!std::filesystem::exists(folder / "again"));
}

BOOST_AUTO_TEST_CASE(RUN_1_a_base_that_does_not_fit_is_refused_with_file_key_and_parameter) {
  const auto refused = [&](std::vector<std::string> overrides, const std::string& id, const std::string& text) {
    check_refused([&] { run_experiment({.source = toml, .overrides = overrides, .out = tuned}); }, id, text);
    BOOST_TEST(!std::filesystem::exists(tuned));
  };
  refused({"model.base=" + base, "model.width=8"}, "RUN-1",
          toml + ": model.base " + base + ", copy_parameters, \"token_embedding.weight\": expected float32 [256, 8]");
  refused({"model.base=" + base, "model.blocks=1"}, "RUN-1", "model.base " + base);
  refused({"model.base=" + folder / "nothing"}, "FILE-6", folder / "nothing");
  refused({"model.base=" + base, "adapter.layers=['querry']"}, "LORA-3", "querry");
  refused({"adapter.layers=['query']"}, "RUN-1", "adapter.layers: expected model.base with it");
  refused({"model.base=" + base, "quantise.layers=['query']"}, "RUN-1",
          "quantise.layers: expected adapter.layers with it");
  packed.push_back("quantise.block=48");
  refused(packed, "RUN-1", "quantise.block: expected a power of two, found 48");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
