// The battery of the self-test. A change of its inputs changes the digest: it says so in reference/numerics.md.
#include "harness/selftest.hpp"

#include <bit>
#include <functional>

#include "autograd/ops.hpp"
#include "base/sabotage.hpp"
#include "data/text.hpp"
#include "harness/training.hpp"
#include "kernels/digest.hpp"
#include "numerics/philox.hpp"
#include "numerics/set_digest.hpp"

namespace assay {
namespace {

Tensor drawn(Device device, const Shape& shape, std::uint64_t seed, float low = -2, float high = 2) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * numerics::uniform(seed, i, 0);
  return Tensor::from(values, shape, device);
}

/// Every 2¹⁶-th pattern of 32 bits, NaNs and infinities included.
Tensor patterns(Device device) {
  std::vector<float> values(1 << 16);
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = std::bit_cast<float>(i * 65521u);
  return Tensor::from(values, {1 << 16}, device);
}

using Computation = std::function<Variable(const std::vector<Variable>&)>;

/// Digest of the value and of every gradient of an operation.
std::uint64_t outcome(const Computation& operation, const std::vector<Tensor>& inputs) {
  std::vector<Variable> leaves;
  for (const Tensor& input : inputs) leaves.push_back(Variable::leaf(input));
  Variable result = operation(leaves);
  result.backward(drawn(result.device(), result.shape(), 7));
  std::uint64_t digest = kernels::digest(result.value());
  if (sabotaged("selftest_ignores_gradients")) return digest;
  if (sabotaged("selftest_knows_its_device")) digest += result.device() == simulated;
  for (const Variable& leaf : leaves) digest = digest * 31 + kernels::digest(leaf.gradient());
  return digest;
}

/// Of everything that the training records in its steps.
std::uint64_t digest_of(const Configuration& configuration, const Datasets& data) {
  Training training(configuration, data);
  std::uint64_t digest = 0;
  for (std::int64_t step = 0; step < configuration.train.steps; ++step) {
    StepRow row = training.advance();
    for (const auto* table : {&row.parameters, &row.gradients, &row.optimiser, &row.masks})
      for (std::uint64_t value : *table) digest = digest * 31 + value;
    digest = digest * 31 + row.loss_digest + row.ids_digest + std::bit_cast<std::uint64_t>(row.gradient_norm);
  }
  return digest;
}

std::uint64_t trained(Device device, std::vector<std::string> overrides) {
  overrides.insert(overrides.end(),
                   {"run.device=" + to_string(device), "data.kind=synthetic", "data.synthetic.samples=200",
                    "data.synthetic.features=20", "data.synthetic.classes=5", "model.layers=[20,33,5]",
                    "train.steps=12", "train.batch=30"});
  Configuration configuration = parse_configuration("", "selftest", overrides);
  Datasets data = load_datasets(configuration.data);
  return digest_of(configuration, data);
}

/// Of attention, blocks and tied tables.
std::uint64_t trained_decoder(Device device) {
  Text text;
  for (int i = 0; i < 300; ++i) text.bytes += static_cast<char>('a' + i * i % 7 + i % 3);
  TrainAndTest sets = cut_text(text, 9, 4);
  return digest_of(parse_configuration("", "selftest",
                                       {"run.device=" + to_string(device), "model.kind=decoder", "model.width=12",
                                        "model.heads=3", "model.blocks=2", "model.hidden=20", "model.activation=gelu",
                                        "model.tied=true", "model.dropout=0.2", "train.steps=2", "train.batch=8",
                                        "train.shards=2", "train.clip_norm=0.5"}),
                   {sets.train, {}, sets.test});
}

}  // namespace

std::vector<SelftestPart> run_selftest(Device device) {
  std::vector<SelftestPart> parts;
  auto drawn = [device](const Shape& shape, std::uint64_t seed, float low = -2, float high = 2) {
    return assay::drawn(device, shape, seed, low, high);
  };
  auto check = [&](const char* name, const Computation& operation, const std::vector<Tensor>& inputs) {
    parts.push_back({name, outcome(operation, inputs)});
  };
  auto value_of = [&](const char* name, Variable (*operation)(const Variable&)) {
    parts.push_back({name, kernels::digest(operation(patterns(device)).value())});
  };
  value_of("exp of bit patterns", exp);
  value_of("log of bit patterns", log);
  value_of("tanh of bit patterns", tanh);
  value_of("sigmoid of bit patterns", sigmoid);
  value_of("gelu of bit patterns", gelu);
  value_of("relu of bit patterns", relu);

  std::vector<float> normals(10000);
  for (std::size_t i = 0; i < normals.size(); ++i) normals[i] = numerics::normal(42, i, 3);
  parts.push_back({"normal draws", kernels::digest(Tensor::from(normals, {10000}, device))});

  Tensor a = drawn({37, 41}, 1), b = drawn({37, 41}, 2), positive = drawn({37, 41}, 3, 0.5f, 3);
  check("add", [](const auto& in) { return add(in[0], in[1]); }, {a, drawn({41}, 4)});
  check("subtract", [](const auto& in) { return subtract(in[0], in[1]); }, {a, drawn({37, 1}, 5)});
  check("multiply", [](const auto& in) { return multiply(in[0], in[1]); }, {a, b});
  check("divide", [](const auto& in) { return divide(in[0], in[1]); }, {a, positive});
  check("exp", [](const auto& in) { return exp(in[0]); }, {a});
  check("log", [](const auto& in) { return log(in[0]); }, {positive});
  check("tanh", [](const auto& in) { return tanh(in[0]); }, {a});
  check("sigmoid", [](const auto& in) { return sigmoid(in[0]); }, {a});
  check("gelu", [](const auto& in) { return gelu(in[0]); }, {a});
  check("sum over rows", [](const auto& in) { return sum(in[0], {1}); }, {drawn({3, 9001}, 6)});
  check("sum over columns", [](const auto& in) { return sum(in[0], {0}); }, {drawn({1100, 9}, 6)});
  check("mean", [](const auto& in) { return mean(in[0], {0, 1}); }, {a});
  check("maximum", [](const auto& in) { return maximum(in[0], 1); }, {a});
  check("softmax", [](const auto& in) { return softmax(in[0]); }, {a});
  check("log_softmax", [](const auto& in) { return log_softmax(in[0]); }, {a});
  check("layer_norm", [](const auto& in) { return layer_norm(in[0], in[1], in[2], 1e-5); },
        {drawn({5, 600}, 10), drawn({600}, 11), drawn({600}, 12)});
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 600; ++i) ids.push_back(i * i % 11);
  const Tensor names = Tensor::from(ids, {600}, device);
  check("embedding", [&](const auto& in) { return embedding(in[0], names); }, {drawn({12, 9}, 13)});
  const std::vector<Tensor> qkv{drawn({2, 33, 34}, 14), drawn({2, 70, 34}, 15), drawn({2, 70, 34}, 16)};
  std::vector<std::uint8_t> kept;
  for (int i = 0; i < 2 * 2 * 33 * 70; ++i) kept.push_back(i % 7 != 3);
  const Tensor mask = Tensor::from(kept, {2, 2, 33, 70}, device);
  check(
      "attention", [](const auto& in) { return attention(in[0], in[1], in[2], {}, {.heads = 2}); }, qkv);
  for (const bool materialised : {false, true})
    check(
        materialised ? "attention with a mask, materialised" : "attention with a mask",
        [&](const auto& in) {
          return attention(in[0], in[1], in[2], mask, {.heads = 2, .p = 0.2, .materialised = materialised});
        },
        qkv);
  check("matmul", [](const auto& in) { return matmul(in[0], in[1]); }, {drawn({33, 1100}, 8), drawn({1100, 70}, 9)});
  check("matmul, transposed", [](const auto& in) { return matmul(transpose(in[0], 0, 1), transpose(in[1], 0, 1)); },
        {drawn({70, 33}, 8), drawn({65, 70}, 9)});
  std::vector<std::int32_t> labels(37);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 9 == 4 ? -100 : static_cast<std::int32_t>(i % 41);
  Tensor classes = Tensor::from(labels, {37}, device);
  check("cross entropy", [&](const auto& in) { return cross_entropy(in[0], classes, {.label_smoothing = 0.1}); }, {a});
  check("mean squared error", [](const auto& in) { return mean_squared_error(in[0], in[1]); }, {a, b});

  parts.push_back({"training with AdamW", trained(device, {"model.dropout=0.3", "train.shards=4", "train.clip_norm=0.5",
                                                           "schedule.kind=one_cycle", "optimiser.weight_decay=0.1"})});
  parts.push_back({"training with SGD",
                   trained(device, {"optimiser.kind=sgd", "optimiser.momentum=0.9", "optimiser.nesterov=true",
                                    "model.activation=gelu", "loss.kind=mse", "optimiser.learning_rate=0.05"})});
  parts.push_back({"training of a decoder", trained_decoder(device)});
  return parts;
}

std::string selftest_digest(const std::vector<SelftestPart>& parts) {
  std::vector<DigestedTensor> set;
  for (const SelftestPart& part : parts) set.push_back({part.name, "u64", {}, part.digest});
  return digest_of_set(set);
}

}  // namespace assay
