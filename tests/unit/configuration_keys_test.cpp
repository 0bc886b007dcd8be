// Configuration: values, overrides, every refusal with its message, and the manual.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "data_files.hpp"
#include "harness/configuration.hpp"
#include "harness/configuration_keys.hpp"
#include "harness/model.hpp"

namespace {

using namespace assay;
using namespace assay::test;
using Overrides = std::vector<std::string>;

const std::string full_text = R"(
[experiment]
name = "try"
seed = 7
[data]
kind = "synthetic"
digests = { "a.gz" = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
synthetic.noise = 1  # an integer is a number too
[model]
layers = [16, 8, 4]
dropout = 0.25
[optimiser]
kind = "sgd"
momentum = 0.9
nesterov = true
[train]
steps = 50
shards = 4
)";

std::string refused(const std::string& text, const Overrides& overrides = {}) {
  return refusal([&] { parse_configuration(text, "x.toml", overrides); });
}

BOOST_AUTO_TEST_SUITE(configuration_keys)

BOOST_AUTO_TEST_CASE(values_of_the_file_replace_the_defaults_and_the_text_is_kept) {
  const Configuration c = parse_configuration(full_text, "x.toml", {"train.batch=32"});
  BOOST_TEST(c.experiment.name == "try");
  BOOST_TEST(c.experiment.seed == 7);
  BOOST_TEST(c.data.kind == "synthetic");
  BOOST_TEST(c.data.digests.at("a.gz").size() == 64u);
  BOOST_TEST(c.data.synthetic.noise == 1.0);
  BOOST_TEST(c.data.synthetic.samples == 1024);
  BOOST_TEST((c.model.layers == std::vector<std::int64_t>{16, 8, 4}));
  BOOST_TEST(c.model.dropout == 0.25);
  BOOST_TEST(c.optimiser.nesterov);
  BOOST_TEST(c.train.steps == 50);
  BOOST_TEST(c.train.epochs == 0);
  BOOST_TEST(c.train.batch == 32);
  BOOST_TEST(c.text == full_text);
  BOOST_TEST(c.source == "x.toml");
  BOOST_TEST((c.overrides == Overrides{"train.batch=32"}));
}

BOOST_AUTO_TEST_CASE(an_empty_file_is_the_defaults) {
  const Configuration c = parse_configuration("", "x.toml");
  BOOST_TEST(c.train.epochs == 1);
  BOOST_TEST(c.train.steps == 0);
  BOOST_TEST(c.model.layers.size() == 3u);
}

BOOST_AUTO_TEST_CASE(overrides_are_toml_or_bare_words_and_the_last_one_wins) {
  const Configuration c = parse_configuration(
      full_text, "x.toml",
      {"optimiser.kind=adam", "optimiser.kind=adamw", "experiment.name=2024-try b=c", "model.layers=[16, 4]",
       "optimiser.learning_rate = 1e-2", "data.path=\"/a b\"", "optimiser.nesterov=false",
       "data.digests.\"b.gz\"=1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"});
  BOOST_TEST(c.optimiser.kind == "adamw");
  BOOST_TEST(c.experiment.name == "2024-try b=c");
  BOOST_TEST((c.model.layers == std::vector<std::int64_t>{16, 4}));
  BOOST_TEST(c.optimiser.learning_rate == 0.01);
  BOOST_TEST(c.data.path == "/a b");
  BOOST_TEST(!c.optimiser.nesterov);
  BOOST_TEST(c.data.digests.size() == 2u);
  BOOST_TEST(c.data.digests.at("b.gz")[0] == '1');
}

BOOST_AUTO_TEST_CASE(a_length_in_an_override_replaces_the_other_length_of_the_file) {
  const Configuration steps = parse_configuration("train.epochs = 3", "x.toml", {"train.steps=200"});
  BOOST_TEST(steps.train.steps == 200);
  BOOST_TEST(steps.train.epochs == 0);
  const Configuration epochs = parse_configuration("train.steps = 3", "x.toml", {"train.epochs=2"});
  BOOST_TEST(epochs.train.steps == 0);
  BOOST_TEST(epochs.train.epochs == 2);
}

BOOST_AUTO_TEST_CASE(RUN_1_both_lengths_in_one_place_or_none_are_refused) {
  BOOST_TEST(
      refused("[train]\nepochs = 3\nsteps = 2") ==
      "RUN-1: x.toml:3:9: train.steps: expected either train.epochs or train.steps, found both: 3 epochs, 2 steps");
  BOOST_TEST(
      refused("", {"train.steps=2", "train.epochs=3"}) ==
      "RUN-1: --set train.steps=2: train.steps: expected either train.epochs or train.steps, found both: 3 epochs, "
      "2 steps");
  BOOST_TEST(refused("train.epochs = 0") ==
             "RUN-1: x.toml:1:16: train.epochs: expected train.epochs or train.steps above 0, found both 0");
}

BOOST_AUTO_TEST_CASE(RUN_1_an_unknown_key_is_refused_with_its_place_and_the_nearest_key) {
  BOOST_TEST(refused("[train]\nbatch = 4\n  bacth = 3") ==
             "RUN-1: x.toml:3:3: train.bacth: expected a known key (the nearest is train.batch), found an unknown key");
  const auto nearest = [](const std::string& text) {
    const std::string message = refused(text), before = "(the nearest is ";
    const std::size_t begin = message.find(before) + before.size();
    return message.substr(begin, message.find(')', begin) - begin);
  };
  BOOST_TEST(nearest("[optimizer]\nkind = 'sgd'") == "optimiser");
  BOOST_TEST(nearest("[data.synthetics]") == "data.synthetic");
  BOOST_TEST(nearest("model.learning_rate = 3") == "optimiser.learning_rate");
  BOOST_TEST(nearest("learning_rat = 3") == "optimiser.learning_rate");
  BOOST_TEST(nearest("data.synthetic.sample = 3") == "data.synthetic.samples");
  BOOST_TEST(nearest("loss.label_smothing = 3") == "loss.label_smoothing");
  BOOST_TEST(nearest("x." + std::string(100000, 'y') + " = 3") != "");
  BOOST_TEST(refused("", {"train.bacth=3"}) ==
             "RUN-1: --set train.bacth=3: train.bacth: expected a known key (the nearest is train.batch), found an "
             "unknown key");
}

BOOST_AUTO_TEST_CASE(RUN_1_a_wrong_type_or_range_is_refused_with_its_place_expected_and_found) {
  const std::string at = "RUN-1: x.toml:1:";
  BOOST_TEST(refused("train.batch = -64") ==
             at + "15: train.batch: expected an integer in [1, 1048576], found the integer -64");
  BOOST_TEST(refused("train.batch = 64.0") == at + "15: train.batch: expected an integer in [1, 1048576], found 64.0");
  BOOST_TEST(refused("train.batch = '64'") ==
             at + "15: train.batch: expected an integer in [1, 1048576], found the string '64'");
  BOOST_TEST(refused("train = 3") == at + "9: train: expected a table of keys, found the integer 3");
  BOOST_TEST(refused("[[train]]") == at + "1: train: expected a table of keys, found the list [ {} ]");
  BOOST_TEST(refused("train.batch.x = 3") ==
             at + "7: train.batch: expected an integer in [1, 1048576], found the table x = 3");
  BOOST_TEST(refused("model.dropout = 1") ==
             at + "17: model.dropout: expected a number in [0, 1), found the integer 1");
  BOOST_TEST(refused("model.dropout = nan") == at + "17: model.dropout: expected a number in [0, 1), found nan");
  BOOST_TEST(refused("model.layers = [784, 0, 10]") ==
             at + "16: model.layers: expected a list of integers in [1, 1048576], found the list [ 784, 0, 10 ]");
  BOOST_TEST(refused("model.layers = [784]") == at + "16: model.layers: expected at least two widths, found 1");
  BOOST_TEST(refused("model.activation = 'rleu'") ==
             at + "20: model.activation: expected one of relu, gelu, tanh, sigmoid, found the string 'rleu'");
  BOOST_TEST(refused("optimiser.learning_rate = 0.0") ==
             at + "27: optimiser.learning_rate: expected a number > 0, found 0.0");
  BOOST_TEST(refused("optimiser.learning_rate = inf") ==
             at + "27: optimiser.learning_rate: expected a number > 0, found inf");
  BOOST_TEST(refused("optimiser.nesterov = 1") ==
             at + "22: optimiser.nesterov: expected true or false, found the integer 1");
  BOOST_TEST(refused("optimiser.nesterov = true") ==
             at + "22: optimiser.nesterov: expected optimiser.momentum above 0 with it, found 0");
  BOOST_TEST(refused("train.shards = 3") == at + "16: train.shards: expected a power of two, found 3");
  BOOST_TEST(
      refused("data.digests.x = 'A'") ==
      at + "6: data.digests: expected a table of SHA-256 digests (64 lower-case digits), found the table x = 'A'");
  BOOST_TEST(refused("run.numerics = 'quick'") ==
             at + "16: run.numerics: expected one of exact, fast, found the string 'quick'");
  BOOST_TEST(refused("run.numerics = 'fast'", {"run.device=reference"}) ==
             at + "16: run.numerics: expected exact on the device reference, which has one numerics only, found fast");
  BOOST_TEST(refused("run.tf32 = true") == at + "12: run.tf32: expected run.numerics = \"fast\" with it, found exact");
  BOOST_TEST(refused("experiment.name = 1979-05-27") ==
             at + "19: experiment.name: expected a string, found 1979-05-27");
  BOOST_TEST(
      refused("", {"train.batch=many"}) ==
      "RUN-1: --set train.batch=many: train.batch: expected an integer in [1, 1048576], found the string 'many'");
}

BOOST_AUTO_TEST_CASE(RUN_1_a_syntax_error_is_refused_with_its_place) {
  BOOST_TEST(refused("[train]\nbatch = = 3").starts_with("RUN-1: x.toml:2:9: expected TOML, found "));
  BOOST_TEST(refused("a = 1\na = 2").starts_with("RUN-1: x.toml:2:"));
  BOOST_TEST(refused("\xFF\xFE").starts_with("RUN-1: x.toml:1:"));
  BOOST_TEST(refused(std::string(100000, '[')).starts_with("RUN-1: x.toml:1:"));
}

BOOST_AUTO_TEST_CASE(RUN_1_an_override_that_is_no_key_and_value_is_refused) {
  BOOST_TEST(refused("", {"train.batch"}) == "RUN-1: --set train.batch: expected key=value, found no '='");
  BOOST_TEST(refused("", {"#a=b"}) == "RUN-1: --set #a=b: expected key=value, found no key");
  BOOST_TEST(refused("", {"train.batch=1\ntrain.shards=2"}) ==
             "RUN-1: --set train.batch=1\ntrain.shards=2: expected key=value, found more than one line");
  BOOST_TEST(refused("", {"=3"}).starts_with("RUN-1: --set =3: expected key=value, found "));
  BOOST_TEST(refused("", {"a b=3"}).starts_with("RUN-1: --set a b=3: expected key=value, found "));
}

BOOST_AUTO_TEST_CASE(RUN_1_a_file_that_cannot_be_read_is_refused_by_name) {
  Folder folder;
  const auto load = [](const std::string& path) { return refusal([&] { load_configuration(path); }); };
  BOOST_TEST(load("/nowhere.toml") == "RUN-1: experiment file /nowhere.toml: expected a readable file, found nothing");
  BOOST_TEST(load(folder.path()) == "RUN-1: experiment file " + folder.path() +
                                        ": expected a readable file, found something that is no regular file");
  write_file(folder / "x.toml", std::string((1 << 20) + 1, '\n'));
  BOOST_TEST(load(folder / "x.toml") ==
             "RUN-1: experiment file " + folder / "x.toml" + ": expected at most 1048576 bytes, found 1048577 bytes");
  write_file(folder / "x.toml", full_text);
  BOOST_TEST(load_configuration(folder / "x.toml").experiment.name == "try");
}

BOOST_AUTO_TEST_CASE(RUN_4_the_resolved_values_name_every_key_and_read_back_as_overrides) {
  const Configuration c = parse_configuration(full_text, "x.toml", {"experiment.seed=9007199254740993"});
  const std::string text = resolved_json(c);
  const nlohmann::json resolved = nlohmann::json::parse(text);
  BOOST_TEST(resolved.at("experiment.seed").get<std::int64_t>() == 9007199254740993);
  BOOST_TEST(resolved.at("model.layers").dump() == "[16,8,4]");
  BOOST_TEST(resolved.at("optimiser.epsilon").get<double>() == 1e-8);
  BOOST_TEST(text.find("\"checkpoint.every\"") < text.find("\"train.batch\""));
  Overrides overrides;
  for (const auto& [name, value] : resolved.items())
    if (!value.is_object() && !(name == "train.epochs")) overrides.push_back(name + "=" + value.dump());
  Configuration again = parse_configuration("", "y.toml", overrides);
  again.data.digests = c.data.digests;
  BOOST_TEST(resolved_json(again) == text);
}

BOOST_AUTO_TEST_CASE(RUN_1_layers_that_do_not_fit_the_data_are_refused) {
  const Configuration c = parse_configuration("", "x.toml");
  Dataset data;
  data.name = "train";
  data.features = 784;
  data.classes = 10;
  BOOST_CHECK_NO_THROW(make_model(c, data, Random(1)));
  data.classes = 4;
  BOOST_TEST(refusal([&] { make_model(c, data, Random(1)); }) ==
             "RUN-1: x.toml: model.layers: expected a last width of 4 as in the train set, found 10");
  data.features = 16;
  BOOST_TEST(refusal([&] { make_model(c, data, Random(1)); }) ==
             "RUN-1: x.toml: model.layers: expected a first width of 16 as in the train set, found 784");
  data.tokens = {1};
  BOOST_TEST(refusal([&] { make_model(c, data, Random(1)); }) ==
             "RUN-1: x.toml: model.kind: expected decoder, because the train set holds tokens, found mlp");
}

BOOST_AUTO_TEST_CASE(FILE_6_mutated_experiment_files_and_overrides_give_an_error_or_a_configuration) {
  std::mt19937_64 random(20240607);
  const auto mutated = [&](std::string text) {
    for (std::uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
          break;
        default:
          text.insert(at, 1, "[]{}=\"'.,#\n\\-0e"[random() % 15]);
      }
      if (text.empty()) text = "=";
    }
    return text;
  };
  int accepted = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string text = i % 2 ? mutated(full_text) : full_text;
    const Overrides overrides = {i % 2 ? "train.batch=5" : mutated("data.digests.\"a.gz\"=\"x\"")};
    try {
      resolved_json(parse_configuration(text, "x.toml", overrides));
      ++accepted;
    } catch (const Error& error) {
      BOOST_TEST(error.id() == "RUN-1");
    }
  }
  BOOST_TEST(accepted > 100);
}

#ifdef ASSAY_SOURCE_ROOT
BOOST_AUTO_TEST_CASE(the_page_of_all_keys_in_the_manual_is_the_table_of_keys) {
  BOOST_TEST(read_bytes(std::string(ASSAY_SOURCE_ROOT) + "/reference/configuration.md") == key_reference());
}

BOOST_AUTO_TEST_CASE(the_experiments_of_the_project_are_accepted) {
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(ASSAY_SOURCE_ROOT) + "/experiments"))
    if (entry.path().extension() == ".toml")
      BOOST_TEST(refusal([&] { load_configuration(entry.path().string()); }) == "");
}
#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
