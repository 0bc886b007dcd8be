// Contract of the decoder: names, causality, and the forms of its computation.
#include "models/decoder.hpp"

#include "autograd/ops.hpp"
#include "data/text.hpp"
#include "harness/training.hpp"
#include "support/contract.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

constexpr DecoderOptions tiny_decoder{.vocabulary = 5, .context = 4, .width = 4, .heads = 2, .blocks = 2, .hidden = 6};
constexpr DecoderOptions small_decoder{
    .vocabulary = 11, .context = 34, .width = 12, .heads = 3, .blocks = 2, .hidden = 20};

Tensor ids_of(const std::vector<std::int32_t>& ids, const Shape& shape, Device device) {
  return Tensor::from(ids, shape, device);
}
std::vector<std::int32_t> some_ids(std::int64_t count, std::int32_t classes) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((i * i + 3 * i) % classes));
  return ids;
}

/// Loss and gradients of all parameters in one training step, dropout included.
struct DecoderStep {
  Tensor loss;
  std::vector<Tensor> gradients;
};
DecoderStep decoder_step(DecoderOptions options, Device device) {
  DecoderOnlyTransformer model(options, Random(5));
  model.to(device);
  const std::int64_t samples = 2, count = samples * options.context;
  const auto classes = static_cast<std::int32_t>(options.vocabulary);
  const Variable logits = model.forward(ids_of(some_ids(count, classes), {samples, options.context}, device));
  std::vector<std::int32_t> labels = some_ids(count + 1, classes);
  labels.erase(labels.begin());
  const Variable loss = cross_entropy(reshape(logits, {count, options.vocabulary}), ids_of(labels, {count}, device));
  loss.backward();
  DecoderStep step{loss.value(), {}};
  for (const NamedParameter& entry : model.parameters()) step.gradients.push_back(entry.parameter->gradient());
  return step;
}
void check_same_decoder_step(const DecoderStep& expected, const DecoderStep& found, const std::string& what) {
  check_same_bits(expected.loss, found.loss, what + ", loss");
  for (std::size_t i = 0; i < expected.gradients.size(); ++i)
    check_same_bits(expected.gradients[i], found.gradients[i], what + ", gradient " + std::to_string(i));
}

}  // namespace

BOOST_AUTO_TEST_CASE(LAYER_3_the_parameters_of_a_decoder_have_stated_names_in_stated_order) {
  const DecoderOnlyTransformer model(tiny_decoder, Random(1));
  std::vector<std::string> expected{"token_embedding.weight", "position_embedding.weight"};
  const auto add = [&](const std::string& module, const std::vector<std::string>& names) {
    for (const std::string& name : names) expected.push_back(module + "." + name);
  };
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    add(block + "attention_norm", {"scale", "bias"});
    for (const std::string projection : {"query", "key", "value", "output"})
      add(block + "attention." + projection, {"weight", "bias"});
    add(block + "feed_forward_norm", {"scale", "bias"});
    for (const std::string layer : {"expand", "project"}) add(block + "feed_forward." + layer, {"weight", "bias"});
  }
  add("final_norm", {"scale", "bias"});
  add("language_model_head", {"weight", "bias"});
  std::vector<std::string> found;
  for (const NamedParameter& entry : model.parameters()) found.push_back(entry.name);
  BOOST_TEST(found == expected, boost::test_tools::per_element());
  BOOST_TEST(found.size() == 38u);
  BOOST_TEST(model.parameter_count() == 377);
}

CONTRACT(NUM_9_a_later_token_changes_no_bit_of_the_logits_before_it) {
  DecoderOnlyTransformer model(small_decoder, Random(2));
  model.to(device);
  const EvalScope evaluation;
  const std::vector<std::int32_t> ids = some_ids(small_decoder.context, 11);
  const Tensor before = model.forward(ids_of(ids, {1, small_decoder.context}, device)).value();
  for (std::int64_t t : {0, 1, 31, 32, 33}) {
    std::vector<std::int32_t> other = ids;
    other[static_cast<std::size_t>(t)] = (other[static_cast<std::size_t>(t)] + 1) % 11;
    const Tensor after = model.forward(ids_of(other, {1, small_decoder.context}, device)).value();
    check_same_bits(before.slice(1, 0, t), after.slice(1, 0, t), "before token " + std::to_string(t));
    BOOST_TEST(doubles(before.slice(1, t, t + 1)) != doubles(after.slice(1, t, t + 1)), "token " << t << " is seen");
  }
}

CONTRACT(NUM_9_a_shorter_sequence_and_a_row_alone_have_the_bits_of_the_whole_batch) {
  DecoderOnlyTransformer model(small_decoder, Random(2));
  model.to(device);
  const EvalScope evaluation;
  const Tensor ids = ids_of(some_ids(3 * small_decoder.context, 11), {3, small_decoder.context}, device);
  const Tensor all = model.forward(ids).value();
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t length : {std::int64_t{1}, std::int64_t{20}, small_decoder.context})
      check_same_bits(all.slice(0, row, row + 1).slice(1, 0, length),
                      model.forward(ids.slice(0, row, row + 1).slice(1, 0, length)).value(),
                      "row " + std::to_string(row) + ", " + std::to_string(length) + " tokens");
}

CONTRACT(NUM_9_materialised_and_flash_training_have_the_same_bits) {
  DecoderOptions options = small_decoder;
  options.dropout = 0.2;
  const DecoderStep flash = decoder_step(options, device);
  options.materialised = true;
  check_same_decoder_step(flash, decoder_step(options, device), "materialised");
}

CONTRACT(NUM_10_checkpointed_blocks_have_the_bits_of_plain_ones) {
  DecoderOptions options = small_decoder;
  options.dropout = 0.2;
  for (const bool tied : {false, true}) {
    options.tied = tied;
    options.checkpointed = false;
    const DecoderStep plain = decoder_step(options, device);
    options.checkpointed = true;
    check_same_decoder_step(plain, decoder_step(options, device), tied ? "checkpointed and tied" : "checkpointed");
  }
}

CONTRACT(CHECK_2_the_gradient_of_the_bias_of_keys_is_zero_by_algebra) {
  DecoderOnlyTransformer model(small_decoder, Random(5));
  const DecoderStep step = decoder_step(small_decoder, device);
  const ParameterList parameters = model.parameters();
  double global = 0, of_biases = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    double squares = 0;
    for (const double value : doubles(step.gradients[i])) squares += value * value;
    global += squares;
    if (parameters[i].name.ends_with("attention.key.bias")) of_biases += squares;
  }
  BOOST_TEST(std::sqrt(of_biases) <= 1e-6 * std::sqrt(global));
}

CONTRACT(REG_15_a_tied_head_adds_its_gradient_to_the_table_of_tokens) {
  DecoderOptions options = tiny_decoder;
  options.tied = true;
  DecoderOnlyTransformer model(options, Random(1));
  BOOST_TEST(model.parameter_count() == 377 - 5 * 4);
  BOOST_REQUIRE(model.aliases().size() == 1u);
  BOOST_TEST(model.aliases()[0].alias == "language_model_head.weight");
  BOOST_TEST(model.aliases()[0].owner == "token_embedding.weight");
  const DecoderStep step = decoder_step(options, device);
  for (const double value : doubles(step.gradients[0])) BOOST_TEST(value != 0);
}

CONTRACT(LAYER_3_a_decoder_refuses_ids_that_do_not_fit) {
  DecoderOnlyTransformer model(tiny_decoder, Random(1));
  model.to(device);
  const auto refused = [&](const std::vector<std::int32_t>& ids, const Shape& shape, const std::string& text) {
    check_refused([&] { model.forward(ids_of(ids, shape, device)); }, "LAYER-3", text);
  };
  refused({1, 2}, {2}, "DecoderOnlyTransformer: expected ids [B, T] with T from 1 to the context 4, found [2]");
  refused({1, 2, 3, 4, 0}, {1, 5}, "found [1, 5]");
  refused({1, 5}, {1, 2}, "embedding: expected an id from 0 to 4 at element 1, found 5");
  DecoderOptions options = tiny_decoder;
  options.heads = 3;
  check_refused([&] { DecoderOnlyTransformer(options, Random(1)); }, "LAYER-3",
                "CausalSelfAttention: expected heads that divide the width, found 3 heads of 4");
  options = tiny_decoder;
  options.blocks = 0;
  check_refused([&] { DecoderOnlyTransformer(options, Random(1)); }, "LAYER-3", "at least 1 block");
}

BOOST_AUTO_TEST_CASE(NUM_8_a_decoder_trains_with_the_same_bits_on_cpu_and_simulated_in_every_form) {
  Text text;
  for (std::int64_t i = 0; i < 2000; ++i) text.bytes += static_cast<char>('a' + i * i % 7 + i % 3);
  const TrainAndTest sets = cut_text(text, 9, 4);
  const Datasets data{sets.train, {}, sets.test};
  const std::vector<std::string> options{"model.kind=decoder",
                                         "model.width=8",
                                         "model.heads=2",
                                         "model.blocks=2",
                                         "model.hidden=12",
                                         "model.activation=gelu",
                                         "model.dropout=0.2",
                                         "train.batch=4",
                                         "train.steps=20",
                                         "train.epochs=0",
                                         "train.shards=2",
                                         "train.clip_norm=0.5",
                                         "optimiser.kind=adamw",
                                         "optimiser.weight_decay=0.1",
                                         "schedule.kind=warmup_cosine"};
  std::vector<StepRow> expected;
  for (const char* device : {"cpu", "simulated"})
    for (const char* attention : {"flash", "materialised"})
      for (const char* checkpointed : {"false", "true"}) {
        std::vector<std::string> all = options;
        for (const auto& [key, value] : {std::pair("run.device=", device), std::pair("model.attention=", attention),
                                         std::pair("model.checkpointed=", checkpointed)})
          all.push_back(std::string(key) + value);
        Training training(parse_configuration("", "decoder.toml", all), data);
        std::vector<StepRow> rows;
        while (training.step() < training.total_steps()) rows.push_back(training.advance());
        if (expected.empty()) expected = rows;
        const std::string what = std::string(device) + ", " + attention + ", checkpointed " + checkpointed;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          BOOST_TEST(rows[i].loss_digest == expected[i].loss_digest, what << ", step " << i + 1 << ": loss");
          BOOST_TEST(rows[i].parameters == expected[i].parameters, what << ", step " << i + 1 << ": parameters");
          BOOST_TEST(rows[i].masks == expected[i].masks, what << ", step " << i + 1 << ": masks");
        }
        BOOST_TEST(rows.back().loss < rows.front().loss, what << " learns");
      }
}
