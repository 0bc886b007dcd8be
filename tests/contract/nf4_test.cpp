// Contract of 4-bit weights: their codes, their files and transfers, and training beside them.
#include <cmath>

#include "autograd/ops.hpp"
#include "models/adapter.hpp"
#include "models/linears.hpp"
#include "models/mlp.hpp"
#include "models/quantised.hpp"
#include "nn/initialisers.hpp"
#include "optim/adam.hpp"
#include "support/contract.hpp"
#include "support/folder.hpp"
#include "support/modules.hpp"
#include "support/observed.hpp"
#include "support/plain_loops.hpp"

using namespace assay;
using namespace assay::test;

namespace {

const double nf4_table[] = {-1,
                            -0.6961928009986877,
                            -0.5250730514526367,
                            -0.39491748809814453,
                            -0.28444138169288635,
                            -0.18477343022833334,
                            -0.09105003625154495,
                            0,
                            0.07958029955625534,
                            0.16093020141124725,
                            0.24611230194568634,
                            0.33791524171829224,
                            0.44070982933044434,
                            0.5626170039176941,
                            0.7229568362236023,
                            1};

template <class T>
std::vector<T> nf4_elements(const Tensor& x) {
  const auto values = x.read<T>();
  return {values.begin(), values.end()};
}

std::vector<int> nf4_codes(const Nf4& packed) {
  std::vector<int> codes;
  for (std::uint8_t pair : nf4_elements<std::uint8_t>(packed.codes))
    codes.push_back(pair % 16), codes.push_back(pair / 16);
  codes.resize(static_cast<std::size_t>(packed.shape.size()));
  return codes;
}

/// All that a packed matrix is.
Facts facts_of_codes(const Nf4& packed) {
  return {to_string(packed.shape) + " in blocks of " + std::to_string(packed.block), bits_of(packed.codes),
          bits_of(packed.scale_codes), bits_of(packed.scales)};
}

struct Packable {
  explicit Packable(Device device, std::uint64_t seed = 7) : model({40, 24, 9}, Activation::gelu, 0, Random(seed)) {
    model.to(device);
  }
  Linear& layer(std::size_t index) { return *linears_of(model).at(index).linear; }
  Observed observe_all() {
    Observed now = assay::test::observe(model.parameters());
    for (const NamedParameter& entry : model.parameters())
      now.facts.push_back(entry.name + (entry.parameter->frozen() ? " frozen" : " free"));
    for (std::size_t i : {0u, 1u})
      if (layer(i).packed())
        for (const std::string& fact : facts_of_codes(*layer(i).packed())) now.facts.push_back(fact);
    return now;
  }
  Mlp model;
};

Device another(Device device) { return device == cpu ? simulated : cpu; }

}  // namespace

CONTRACT(NF4_1_each_number_has_the_nearest_code_times_the_largest_of_its_block_low_half_first) {
  for (std::int64_t block : {32, 64, 4096}) {
    const Tensor matrix = drawn({3, 51}, 1, -0.3, 0.2, device);
    const Nf4 packed = kernels::quantise(matrix, {.block = block, .double_quantisation = false});
    const std::vector<float> x = nf4_elements<float>(matrix), scales = nf4_elements<float>(packed.scales);
    const std::vector<int> codes = nf4_codes(packed);
    const Tensor back = kernels::dequantise(packed);
    BOOST_TEST(packed.codes.size() == 77);
    BOOST_TEST(packed.scale_codes.size() == 0);
    BOOST_REQUIRE(packed.scales.size() == (153 + block - 1) / block);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t first = i / static_cast<std::size_t>(block) * static_cast<std::size_t>(block);
      float scale = 0;
      for (std::size_t k = first; k < x.size() && k < first + static_cast<std::size_t>(block); ++k)
        scale = std::max(scale, std::fabs(x[k]));
      BOOST_TEST(scales[i / static_cast<std::size_t>(block)] == scale);
      int nearest = 0;
      const double wanted = x[i] / scale;
      for (int c = 1; c < 16; ++c)
        if (std::fabs(nf4_table[c] - wanted) < std::fabs(nf4_table[nearest] - wanted)) nearest = c;
      BOOST_TEST(codes[i] == nearest, "element " << i << " of blocks of " << block);
      BOOST_TEST(back.read<float>()[static_cast<std::int64_t>(i)] == static_cast<float>(nf4_table[nearest]) * scale);
    }
  }
}

CONTRACT(NF4_1_ties_go_to_the_lower_code_and_a_block_of_zeros_has_scale_0_and_code_7) {
  // Half way between codes 7 and 8, the next numbers above, and each code itself; then a block of zeros.
  std::vector<float> values(64);
  values[0] = 0.07958029955625534f / 2;
  values[1] = std::nextafter(values[0], 1.0f);
  for (std::size_t c = 0; c < 16; ++c) values[2 + c] = static_cast<float>(nf4_table[c]);
  const Nf4 packed =
      kernels::quantise(Tensor::from(values, {2, 32}, device), {.block = 32, .double_quantisation = false});
  const std::vector<int> codes = nf4_codes(packed);
  BOOST_TEST(codes[0] == 7);
  BOOST_TEST(codes[1] == 8);
  for (int c = 0; c < 16; ++c) BOOST_TEST(codes[static_cast<std::size_t>(2 + c)] == c);
  for (std::size_t i = 18; i < 64; ++i) BOOST_TEST(codes[i] == 7);
  BOOST_TEST(nf4_elements<float>(packed.scales) == (std::vector<float>{1, 0}), boost::test_tools::per_element());
  check_same_bits(Tensor::from(values, {2, 32}).slice(0, 1, 2), kernels::dequantise(packed).slice(0, 1, 2), "zeros");
}

CONTRACT(NF4_1_other_blocks_and_matrices_are_refused) {
  for (std::int64_t block : {0, 16, 33, 96, 8192})
    check_refused(
        [&] {
          kernels::quantise(drawn({4, 5}, 1, device), {.block = block});
        },
        "NF4-1", "found " + std::to_string(block));
  std::vector<float> values(20);
  values[7] = INFINITY;
  check_refused([&] { kernels::quantise(Tensor::from(values, {4, 5}, device), {}); }, "NF4-1", "inf at element 7");
  check_refused([&] { kernels::quantise(drawn({20}, 1, device), {}); }, "NF4-1", "[20]");
  check_refused([&] { kernels::quantise(drawn({0, 5}, 1, device), {}); }, "NF4-1", "[0, 5]");
}

CONTRACT(NF4_2_scales_are_quantised_again_about_their_mean_in_groups_of_256) {
  const Tensor matrix = multiply(drawn({300, 32}, 1, device), drawn({300, 1}, 2, 0, 1, device)).value();
  const Nf4 once = kernels::quantise(matrix, {.block = 32, .double_quantisation = false}),
            twice = kernels::quantise(matrix, {.block = 32});
  BOOST_TEST(bits_of(once.codes) == bits_of(twice.codes));
  const std::vector<float> scales = nf4_elements<float>(once.scales), stored = nf4_elements<float>(twice.scales);
  const std::vector<std::uint8_t> codes = nf4_elements<std::uint8_t>(twice.scale_codes);
  BOOST_REQUIRE(stored.size() == 3u);
  BOOST_REQUIRE(codes.size() == 300u);
  BOOST_TEST(stored[0] == plain::lane_sum(scales) / 300.0f);
  const std::vector<float> back = nf4_elements<float>(kernels::dequantise(twice));
  const std::vector<int> numbers = nf4_codes(twice);
  for (std::size_t b = 0; b < 300; ++b) {
    float largest = 0;
    for (std::size_t k = b / 256 * 256; k < 300 && k < b / 256 * 256 + 256; ++k)
      largest = std::max(largest, std::fabs(scales[k] - stored[0]));
    BOOST_TEST(stored[1 + b / 256] == largest);
    BOOST_TEST(codes[b] == 128 + std::round(127.0 * (scales[b] - stored[0]) / largest), "scale " << b);
    float scale = stored[0] + largest * (static_cast<float>(codes[b] - 128) / 127.0f);
    if (!(scale > 0)) scale = 0;
    for (std::size_t i = 32 * b; i < 32 * b + 32; ++i)
      BOOST_TEST(back[i] == static_cast<float>(nf4_table[numbers[i]]) * scale);
  }
}

CONTRACT(NF4_2_equal_scales_have_code_128_and_a_sum_of_scales_that_overflows_is_refused) {
  const Nf4 packed = kernels::quantise(Tensor::full({3, 32}, 2, device), {.block = 32});
  for (std::uint8_t code : nf4_elements<std::uint8_t>(packed.scale_codes)) BOOST_TEST(int{code} == 128);
  for (float value : nf4_elements<float>(kernels::dequantise(packed))) BOOST_TEST(value == 2);
  check_refused([&] { kernels::quantise(Tensor::full({3, 32}, 3e38, device), {.block = 32}); }, "NF4-2", "inf");
}

CONTRACT(NF4_2_all_that_is_stored_is_at_most_4_2_bits_a_weight) {
  Linear layer(256, 192, Random(3)["a"], false);
  layer.to(device);
  const std::uint64_t dense = device_counters(device).live_bytes;
  layer.pack_weight(kernels::quantise(layer.weight().value(), {.block = 64}));
  const double weights = 256 * 192, bits_counted = static_cast<double>(layer.packed()->bytes()) * 8 / weights;
  BOOST_TEST(bits_counted <= 4.2);
  // The device gives memory in pieces of up to 256 bytes, of which each of the three tensors may waste one.
  const std::uint64_t held = 4 * static_cast<std::uint64_t>(weights) - (dense - device_counters(device).live_bytes);
  BOOST_TEST(held <= static_cast<std::uint64_t>(layer.packed()->bytes()) + 3 * 256);
}

CONTRACT(NF4_2_no_dense_weight_and_no_gradient_of_one_exists_while_adapters_are_trained) {
  Mlp model({192, 256, 192, 9}, Activation::gelu, 0, Random(3));
  model.to(device);
  quantise(model, {"fc1", "fc2", "fc3"});
  for (const NamedParameter& entry : model.parameters()) entry.parameter->freeze();
  attach_adapters(model, {"fc1", "fc2", "fc3"}, {.rank = 4, .alpha = 8}, 5);
  Adam optimiser(lora_parameters(model));
  const Tensor x = drawn({4, 192}, 1, device), labels = Tensor::from<std::int32_t>({0, 3, 5, 8}, {4}, device);
  const Facts before = facts_of_codes(*linears_of(model)[0].linear->packed());
  auto step = [&] {
    optimiser.zero_gradients();
    const Variable loss = cross_entropy(model.forward(x), labels);
    loss.backward();
    optimiser.step(0.01);
    return loss.value().item();
  };
  const double first = step();
  step();
  AccessScope counts;
  const double last = step();
  std::uint64_t bytes = 0;
  for (const AccessRow& row : counts.rows())
    if (row.access == Access::allocation) bytes += row.bytes;
  BOOST_TEST(last < first);
  BOOST_TEST(bytes > 0u);
  // A step allocates less, all in all, than one dense weight takes.
  BOOST_TEST(bytes < 4u * 256 * 192);
  BOOST_TEST((facts_of_codes(*linears_of(model)[0].linear->packed()) == before));
  for (const NamedParameter& entry : model.parameters()) BOOST_TEST(!entry.parameter->has_pending_gradient());
}

CONTRACT(NF4_4_a_weight_that_somebody_else_holds_is_not_quantised_and_nothing_changes) {
  Packable packable(device);
  auto refused = [&](const std::string& id, const std::string& fragment, const std::vector<std::string>& names) {
    const Observed before = packable.observe_all();
    check_refused([&] { quantise(packable.model, names); }, id, fragment);
    check_unchanged(before, packable.observe_all(), fragment);
  };
  {
    const ParameterHandle held = packable.layer(1).weight().handle();
    refused("REG-13", "quantise \"fc2\"", {"fc1", "fc2"});
  }
  {
    const Adam optimiser(packable.model.parameters());
    refused("REG-13", "handles, lists, optimisers", {"fc1"});
  }
  {
    const Variable y = packable.model.forward(drawn({2, 40}, 1, device));
    refused("REG-13", "a variable or a graph", {"fc2"});
  }
  packable.layer(1).weight().freeze();
  refused("REG-13", "a frozen one", {"fc1", "fc2"});
  packable.layer(1).weight().unfreeze();
  refused("NF4-4", "a linear layer named \"fc3\"", {"fc1", "fc3"});
  quantise(packable.model, {"fc1"});
  refused("NF4-4", "a dense one", {"fc2", "fc1"});
}

CONTRACT(NF4_4_the_way_back_restores_names_and_places_and_gives_the_values_of_the_codes) {
  Packable packable(device);
  const Names all = names_of(packable.model), fewer{"fc1.bias", "fc2.bias"};
  const Tensor x = drawn({3, 40}, 1, device);
  quantise(packable.model, {"fc1", "fc2"}, {.block = 32});
  BOOST_TEST(names_of(packable.model) == fewer, boost::test_tools::per_element());
  check_refused([&] { packable.layer(0).weight(); }, "NF4-4", "codes of 4 bits");
  const Tensor packed = packable.model.forward(x).value(), values = kernels::dequantise(*packable.layer(0).packed());
  dequantise(packable.model, {"fc1", "fc2"});
  BOOST_TEST(names_of(packable.model) == all, boost::test_tools::per_element());
  check_same_bits(values, packable.layer(0).weight().value(), "the weight");
  check_same_bits(packed, packable.model.forward(x).value(), "the output");
  check_refused([&] { dequantise(packable.model, {"fc1"}); }, "NF4-4", "found a dense weight");
  sum(packable.model.forward(x)).backward();
  BOOST_TEST(packable.layer(0).weight().has_pending_gradient());
}

CONTRACT(NF4_4_each_field_of_imported_codes_is_checked) {
  const Nf4 valid = kernels::quantise(drawn({3, 43}, 1, device), {.block = 32});
  kernels::require_valid(valid, "here");
  auto refused = [&](const std::string& fragment, auto change) {
    Nf4 packed = valid;
    change(packed);
    check_refused([&] { kernels::require_valid(packed, "here"); }, "NF4-4", fragment);
  };
  auto with = [&](const Tensor& tensor, std::int64_t index, auto value) {
    auto values = nf4_elements<decltype(value)>(tensor);
    values[static_cast<std::size_t>(index)] = value;
    return Tensor::from(values, tensor.shape(), device);
  };
  refused("here, shape: expected a matrix with elements, found [129]", [](Nf4& p) { p.shape = {129}; });
  refused("here, block: expected 32, 64, … or 4096, found 48", [](Nf4& p) { p.block = 48; });
  refused("block", [](Nf4& p) { p.block = 0; });
  refused("here, codes: expected 65 of them, found [64]", [](Nf4& p) { p.codes = p.codes.slice(0, 0, 64); });
  refused("codes: expected no number after the last", [&](Nf4& p) { p.codes = with(p.codes, 64, std::uint8_t{0x70}); });
  refused("scale codes: expected 5 of them, found [4]", [](Nf4& p) { p.scale_codes = p.scale_codes.slice(0, 0, 4); });
  refused("scale codes: expected 1 to 255, found 0",
          [&](Nf4& p) { p.scale_codes = with(p.scale_codes, 2, std::uint8_t{0}); });
  refused("scales: expected 2 of them, found [1]", [](Nf4& p) { p.scales = p.scales.slice(0, 0, 1); });
  refused("scales: expected finite and not negative, found -1", [&](Nf4& p) { p.scales = with(p.scales, 0, -1.0f); });
  refused("found inf", [&](Nf4& p) { p.scales = with(p.scales, 1, INFINITY); });
}

CONTRACT(NF4_4_a_file_that_fits_no_layer_changes_nothing) {
  const Folder folder;
  Packable source(device), target(device);
  check_refused([&] { save_packed(folder / "none.h5", source.model); }, "NF4-4", "none.h5");
  quantise(source.model, {"fc1", "fc2"});
  save_packed(folder / "packed.h5", source.model);
  Mlp wider({40, 25, 9}, Activation::gelu, 0, Random(1)), shorter({40, 24}, Activation::gelu, 0, Random(1));
  wider.to(device);
  shorter.to(device);
  for (Mlp* model : {&wider, &shorter}) {
    const Observed before = observe(model->parameters());
    check_refused([&] { load_packed(folder / "packed.h5", *model); }, "NF4-4",
                  model == &wider ? "[24, 40]" : "\"fc2\"");
    check_unchanged(before, observe(model->parameters()), "a refused file");
  }
  const ParameterHandle held = target.layer(1).weight().handle();
  const Observed before = target.observe_all();
  check_refused([&] { load_packed(folder / "packed.h5", target.model); }, "REG-13", "\"fc2\"");
  check_unchanged(before, target.observe_all(), "a refused file");
}

CONTRACT(NF4_5_transfers_and_files_keep_the_bytes) {
  const Folder folder;
  Packable source(device);
  quantise(source.model, {"fc1", "fc2"}, {.block = 32});
  const Tensor x = drawn({3, 40}, 1, device), y = source.model.forward(x).value();
  const Facts first = facts_of_codes(*source.layer(0).packed()), second = facts_of_codes(*source.layer(1).packed());
  auto same_codes = [&](Packable& other, const std::string& what) {
    BOOST_TEST((facts_of_codes(*other.layer(0).packed()) == first), what);
    BOOST_TEST((facts_of_codes(*other.layer(1).packed()) == second), what);
    check_same_bits(y, other.model.forward(x).value(), what);
  };
  for (Device elsewhere : {another(device), reference_device}) {
    source.model.to(elsewhere);
    BOOST_TEST(to_string(source.layer(1).packed()->scales.device()) == to_string(elsewhere));
    if (elsewhere != reference_device) check_same_bits(y, source.model.forward(x.to(elsewhere)).value(), "elsewhere");
    save_packed(folder / "elsewhere.h5", source.model);
    source.model.to(device);
    same_codes(source, "after the way back from " + to_string(elsewhere));
    Packable target(device);
    load_packed(folder / "elsewhere.h5", target.model);
    same_codes(target, "from a file of " + to_string(elsewhere));
  }
}
