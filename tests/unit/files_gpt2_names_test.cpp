// GPT-2's names: there and back to the bit, and every parameter that does not fit by name.
#include "checkpoint/gpt2_names.hpp"
#include "checkpoint/safetensors.hpp"
#include "files_support.hpp"

namespace {

using namespace assay;
using namespace assay::files_test;

/// A decoder of vocabulary 5, context 4, width 4, two blocks and hidden width 6, whose values count from 1; the bias of
/// the head is zeros.
std::vector<NamedArray> decoder_arrays() {
  std::vector<NamedArray> arrays;
  float next = 1;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::vector<float> values(shape_count(shape));
    for (float& value : values) value = name == "language_model_head.bias" ? 0 : next++;
    arrays.push_back({name, Array::of<float>(values, std::move(shape))});
  };
  const auto add_linear = [&](const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    add(name + ".weight", {outputs, inputs});
    add(name + ".bias", {outputs});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".scale", {4});
    add(name + ".bias", {4});
  };
  add("token_embedding.weight", {5, 4});
  add("position_embedding.weight", {4, 4});
  for (const std::string block : {"blocks.0.", "blocks.1."}) {
    add_norm(block + "attention_norm");
    for (const std::string part : {"query", "key", "value", "output"}) add_linear(block + "attention." + part, 4, 4);
    add_norm(block + "feed_forward_norm");
    add_linear(block + "feed_forward.expand", 6, 4);
    add_linear(block + "feed_forward.project", 4, 6);
  }
  add_norm("final_norm");
  add_linear("language_model_head", 5, 4);
  return arrays;
}

NamedArray& array_named(std::vector<NamedArray>& arrays, const std::string& name) {
  return *std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& entry) { return entry.name == name; });
}

void erase_named(std::vector<NamedArray>& arrays, const std::string& name) {
  arrays.erase(arrays.begin() + (&array_named(arrays, name) - arrays.data()));
}

BOOST_AUTO_TEST_SUITE(files_gpt2_names)

BOOST_AUTO_TEST_CASE(a_decoder_comes_back_from_the_names_of_GPT_2_to_the_bit) {
  const std::vector<NamedArray> ours = decoder_arrays();
  std::size_t scalars = 0;
  for (const NamedArray& entry : ours) scalars += shape_count(entry.array.shape);
  BOOST_TEST(ours.size() == 38u);
  BOOST_TEST(scalars == 377u);
  std::vector<NamedArray> gpt2 = to_gpt2_names(ours);
  BOOST_TEST(gpt2.size() == 29u);  // six fewer in the two c_attn each less two, and no bias of the head
  BOOST_TEST((from_gpt2_names(gpt2) == ours));
  std::reverse(gpt2.begin(), gpt2.end());
  BOOST_TEST((from_gpt2_names(gpt2) == ours));
}

BOOST_AUTO_TEST_CASE(numpy_finds_the_weights_transposed_and_query_key_value_side_by_side) {
  Folder folder;
  save_safetensors(folder / "ours", {.arrays = decoder_arrays()});
  save_safetensors(folder / "gpt2", {.arrays = to_gpt2_names(decoder_arrays())});
  const std::string program = R"(
import json, sys
import numpy as np
def load(path):
    data = open(path, "rb").read()
    length = int.from_bytes(data[:8], "little")
    return {
        name: np.frombuffer(data[8 + length :][slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in json.loads(data[8 : 8 + length]).items()
    }
ours, gpt2 = load(sys.argv[1]), load(sys.argv[2])
expected = {
    "wte.weight": ours["token_embedding.weight"],
    "wpe.weight": ours["position_embedding.weight"],
    "ln_f.weight": ours["final_norm.scale"],
    "ln_f.bias": ours["final_norm.bias"],
    "lm_head.weight": ours["language_model_head.weight"],
}
for n in range(2):
    block = {name.removeprefix(f"blocks.{n}."): array for name, array in ours.items()}
    qkv = [block[f"attention.{part}.weight"].T for part in ("query", "key", "value")]
    expected |= {
        f"h.{n}.ln_1.weight": block["attention_norm.scale"],
        f"h.{n}.ln_1.bias": block["attention_norm.bias"],
        f"h.{n}.attn.c_attn.weight": np.concatenate(qkv, axis=1),
        f"h.{n}.attn.c_attn.bias": np.concatenate([block[f"attention.{p}.bias"] for p in ("query", "key", "value")]),
        f"h.{n}.attn.c_proj.weight": block["attention.output.weight"].T,
        f"h.{n}.attn.c_proj.bias": block["attention.output.bias"],
        f"h.{n}.ln_2.weight": block["feed_forward_norm.scale"],
        f"h.{n}.ln_2.bias": block["feed_forward_norm.bias"],
        f"h.{n}.mlp.c_fc.weight": block["feed_forward.expand.weight"].T,
        f"h.{n}.mlp.c_fc.bias": block["feed_forward.expand.bias"],
        f"h.{n}.mlp.c_proj.weight": block["feed_forward.project.weight"].T,
        f"h.{n}.mlp.c_proj.bias": block["feed_forward.project.bias"],
    }
assert set(expected) == set(gpt2), set(expected) ^ set(gpt2)
for name in expected:
    assert np.array_equal(expected[name], gpt2[name]), name
)";
  BOOST_TEST(python(folder, program, "'" + folder / "ours" + "' '" + folder / "gpt2" + "'") == 0);
}

BOOST_AUTO_TEST_CASE(a_tied_head_has_one_tensor_in_both) {
  std::vector<NamedArray> ours = decoder_arrays();
  erase_named(ours, "language_model_head.weight");
  const std::vector<NamedArray> gpt2 = to_gpt2_names(ours);
  BOOST_TEST(gpt2.back().name == "ln_f.bias");
  BOOST_TEST((from_gpt2_names(gpt2) == ours));
}

BOOST_AUTO_TEST_CASE(a_prefix_is_taken_off_and_causal_masks_are_left_out) {
  std::vector<NamedArray> gpt2 = to_gpt2_names(decoder_arrays());
  for (NamedArray& entry : gpt2)
    if (entry.name != "lm_head.weight") entry.name = "transformer." + entry.name;
  gpt2.push_back({"transformer.h.0.attn.bias", Array::of<float>(std::vector<float>(16), {1, 1, 4, 4})});
  gpt2.push_back({"transformer.h.0.attn.masked_bias", Array::of<float>(std::vector<float>(1), {})});
  BOOST_TEST((from_gpt2_names(gpt2) == decoder_arrays()));
}

BOOST_AUTO_TEST_CASE(FILE_3_a_parameter_that_does_not_fit_the_names_of_GPT_2_is_refused_by_name) {
  const auto refused = [](const std::function<void(std::vector<NamedArray>&)>& change) {
    std::vector<NamedArray> arrays = decoder_arrays();
    change(arrays);
    return refusal("FILE-3", {}, [&] { to_gpt2_names(arrays); });
  };
  const auto refused_back = [](const std::function<void(std::vector<NamedArray>&)>& change) {
    std::vector<NamedArray> arrays = to_gpt2_names(decoder_arrays());
    change(arrays);
    return refusal("FILE-3", {}, [&] { from_gpt2_names(arrays); });
  };
  using Arrays = std::vector<NamedArray>;
  const std::string to = "FILE-3: to_gpt2_names: ", from = "FILE-3: from_gpt2_names: ";
  const Array four = Array::of(std::vector<float>(4));

  BOOST_TEST(refused([](Arrays& a) { erase_named(a, "blocks.1.attention.key.bias"); }) ==
             to + "blocks.1.attention.key.bias: expected an array of this name, found none");
  BOOST_TEST(refused([](Arrays& a) { erase_named(a, "token_embedding.weight"); }) ==
             to + "token_embedding.weight: expected an array of this name, found none");
  BOOST_TEST(refused([](Arrays& a) { erase_named(a, "language_model_head.bias"); }) ==
             to + "language_model_head.bias: expected an array of this name, found none");
  BOOST_TEST(refused([&](Arrays& a) {
               a.push_back({"blocks.3.attention.key.bias", four});
             }) == to + "blocks.3.attention.key.bias: expected a parameter of the decoder, found an unknown name");
  BOOST_TEST(refused([&](Arrays& a) {
               a.push_back({"final_norm.bias", four});
             }) == to + "final_norm.bias: expected every name once, found it twice");
  BOOST_TEST(refused([&](Arrays& a) { array_named(a, "blocks.0.attention.key.weight").array = four; }) ==
             to + "blocks.0.attention.key.weight: expected float32 [4, 4], found float32 [4]");
  BOOST_TEST(refused([&](Arrays& a) { array_named(a, "token_embedding.weight").array = four; }) ==
             to + "token_embedding.weight: expected 2 dimensions, found [4]");
  BOOST_TEST(refused([](Arrays& a) {
               array_named(a, "final_norm.bias").array = Array::of(std::vector<std::int32_t>(4));
             }) == to + "final_norm.bias: expected float32 [4], found int32 [4]");
  for (float value : {0.5f, -0.0f})
    BOOST_TEST(refused([&](Arrays& a) {
                 array_named(a, "language_model_head.bias").array = Array::of(std::vector<float>{0, 0, value, 0, 0});
               }) == to +
                         "language_model_head.bias: expected zeros, because the head of GPT-2 has no bias, found other "
                         "values");

  BOOST_TEST(refused_back([](Arrays& a) { erase_named(a, "h.1.ln_2.weight"); }) ==
             from + "h.1.ln_2.weight: expected an array of this name, found none");
  BOOST_TEST(refused_back([&](Arrays& a) {
               a.push_back({"lm_head.bias", four});
             }) == from + "lm_head.bias: expected a parameter of the decoder, found an unknown name");
  BOOST_TEST(refused_back([&](Arrays& a) {
               a.push_back({"transformer.ln_f.bias", four});
             }) == from + "ln_f.bias: expected every name once, found it twice");
  BOOST_TEST(refused_back([&](Arrays& a) { array_named(a, "h.0.attn.c_attn.bias").array = four; }) ==
             from + "h.0.attn.c_attn.bias: expected float32 [12], found float32 [4]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
