// Every operation and layer on a batch, as the invariances see them: forward, backward, and which operands have a row
// for each sample.
#pragma once

#include "autograd/ops.hpp"
#include "models/decoder.hpp"
#include "models/mlp.hpp"
#include "nn/feed_forward.hpp"
#include "nn/layer_norm.hpp"
#include "nn/shard_scope.hpp"
#include "support/operation.hpp"

namespace assay::test {

/// One operation. `compute` takes the operands of the samples from `first` on, and gives a row for each of them.
struct BatchOperation {
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<bool> per_sample;  ///< which inputs have a row a sample; none: the result is over the whole batch
  std::function<Variable(const std::vector<Variable>&, std::int64_t first)> compute;
};

constexpr std::int64_t batch_rows = 70, batch_features = 600;  // above a block of a chain; work for several threads

/// Drawn, every seventh element subnormal.
inline Tensor with_subnormals(const Shape& shape, std::uint64_t seed, double low, double high, Device device) {
  const Tensor x = drawn(shape, seed, low, high);
  std::vector<float> values(x.read<float>().begin(), x.read<float>().end());
  for (std::size_t i = 0; i < values.size(); i += 7) values[i] = values[i] * 0x1p-130f;
  return Tensor::from(values, shape, device);
}

inline Tensor rows_from(const Tensor& all, std::int64_t first, std::int64_t rows) {
  return all.slice(0, first, first + rows);
}

inline std::vector<BatchOperation> batch_operations(Device device) {
  using In = std::vector<Variable>;
  constexpr std::int64_t rows = batch_rows;
  const Tensor x = with_subnormals({rows, batch_features}, 1, -2, 2, device),
               y = with_subnormals({rows, batch_features}, 2, -2, 2, device),
               positive = with_subnormals({rows, batch_features}, 3, 0.5, 2, device),
               row = with_subnormals({batch_features}, 4, -2, 2, device), column = drawn({rows, 1}, 5, device),
               weight = drawn({33, batch_features}, 6, device), bias = drawn({33}, 7, device),
               table = drawn({9, 40}, 8, device);
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> kept;
  for (std::int64_t i = 0; i < rows; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 9));
  for (std::int64_t i = 0; i < rows * batch_features; ++i) kept.push_back(i % 3 != 0);
  const Tensor labels = Tensor::from(ids, {rows}, device), mask = Tensor::from(kept, {rows, batch_features}, device);
  const Nf4 packed = kernels::quantise(weight, {.block = 64});
  auto elementwise = [&](const char* name, Variable (*f)(const Variable&), const Tensor& at) {
    return BatchOperation{name, {at}, {true}, [f](const In& in, std::int64_t) { return f(in[0]); }};
  };
  auto two = [](const char* name, const Tensor& a, const Tensor& b, bool of_sample, auto f) {
    return BatchOperation{name, {a, b}, {true, of_sample}, [f](const In& in, std::int64_t) { return f(in[0], in[1]); }};
  };
  auto layer = [&](const char* name, auto make) {
    return BatchOperation{name, {x}, {true}, [make, device](const In& in, std::int64_t first) {
                            ShardScope scope(first);
                            auto made = make(Random(7));
                            made->to(device);
                            return made->forward(in[0]);
                          }};
  };
  auto sequence = [](const Tensor& all) { return all.reshape({rows, 20, 30}); };
  auto layer_of_sequences = [&](const char* name, auto make) {
    BatchOperation of = layer(name, make);
    of.inputs = {sequence(x)};
    return of;
  };
  std::vector<std::uint8_t> seen;
  for (std::int64_t i = 0; i < rows * 3 * 20 * 20; ++i) seen.push_back(i % 7 != 3);
  const Tensor weights = Tensor::from(seen, {rows, 3, 20, 20}, device);
  auto attends = [&](const char* name, bool materialised) {
    return BatchOperation{name,
                          {sequence(x), sequence(y), sequence(positive)},
                          {true, true, true},
                          [=](const In& in, std::int64_t first) {
                            return attention(in[0], in[1], in[2], rows_from(weights, first, in[0].shape()[0]),
                                             {.heads = 3, .p = 0.25, .materialised = materialised});
                          }};
  };
  DecoderOptions block{.width = 30, .heads = 3, .hidden = 40};
  block.dropout = 0.3;
  return {
      two("add", x, row, false, [](const Variable& a, const Variable& b) { return add(a, b); }),
      two("subtract", x, column, true, [](const Variable& a, const Variable& b) { return subtract(a, b); }),
      two("multiply", x, y, true, [](const Variable& a, const Variable& b) { return multiply(a, b); }),
      two("divide", x, positive, true, [](const Variable& a, const Variable& b) { return divide(a, b); }),
      elementwise("exp", exp, x),
      elementwise("log", log, positive),
      elementwise("tanh", tanh, x),
      elementwise("sigmoid", sigmoid, x),
      elementwise("gelu", gelu, x),
      elementwise("relu", relu, x),
      elementwise("softmax", softmax, x),
      elementwise("log_softmax", log_softmax, x),
      {"layer_norm",
       {x, row, with_subnormals({batch_features}, 9, -2, 2, device)},
       {true, false, false},
       [](const In& in, std::int64_t) { return layer_norm(in[0], in[1], in[2], 1e-5); }},
      {"sum over the features", {x}, {true}, [](const In& in, std::int64_t) { return sum(in[0], {1}); }},
      {"mean over the features", {x}, {true}, [](const In& in, std::int64_t) { return mean(in[0], {1}); }},
      {"maximum over the features", {x}, {true}, [](const In& in, std::int64_t) { return maximum(in[0], 1); }},
      two("matmul", x, weight.transpose(0, 1), false,
          [](const Variable& a, const Variable& b) { return matmul(a, b); }),
      two("matmul of matrices", drawn({rows, 3, 17}, 10, device), drawn({rows, 17, 5}, 11, device), true,
          [](const Variable& a, const Variable& b) { return matmul(a, b); }),
      {"linear",
       {x, weight, bias},
       {true, false, false},
       [](const In& in, std::int64_t) { return linear(in[0], in[1], in[2]); }},
      {"linear with a rectifier",
       {x, weight, bias},
       {true, false, false},
       [](const In& in, std::int64_t) { return linear(in[0], in[1], in[2], {.relu = true}); }},
      {"nf4_linear",
       {x, bias},
       {true, false},
       [packed](const In& in, std::int64_t) { return nf4_linear(in[0], packed, in[1]); }},
      {"views",
       {x},
       {true},
       [](const In& in, std::int64_t) {
         return transpose(slice(reshape(in[0], {in[0].shape()[0], 30, 20}), 1, 3, 9), 1, 2);
       }},
      {"dropout",
       {x},
       {true},
       [mask](const In& in, std::int64_t first) {
         return dropout(in[0], rows_from(mask, first, in[0].shape()[0]), 0.25);
       }},
      {"embedding",
       {table, column},
       {false, true},
       [labels](const In& in, std::int64_t first) {
         return multiply(embedding(in[0], rows_from(labels, first, in[1].shape()[0])), in[1]);
       }},
      attends("attention", false),
      attends("attention, materialised", true),
      layer_of_sequences(
          "CausalSelfAttention",
          [](const Random& random) { return std::make_shared<CausalSelfAttention>(30, 3, 0.3, false, random); }),
      layer_of_sequences("TransformerBlock",
                         [block](const Random& random) { return std::make_shared<TransformerBlock>(block, random); }),
      layer("Linear", [](const Random& random) { return std::make_shared<Linear>(batch_features, 20, random); }),
      layer("LayerNorm", [](const Random&) { return std::make_shared<LayerNorm>(batch_features); }),
      layer("FeedForward",
            [](const Random& random) {
              return std::make_shared<FeedForward>(batch_features, 40, Activation::gelu, random);
            }),
      layer("Dropout", [](const Random& random) { return std::make_shared<Dropout>(0.4, random["drop"]); }),
      layer("Mlp",
            [](const Random& random) {
              return std::make_shared<Mlp>(std::vector<std::int64_t>{batch_features, 40, 9}, Activation::gelu, 0.3,
                                           random);
            }),
      {"sum over the samples", {x}, {}, [](const In& in, std::int64_t) { return sum(in[0], {0}); }},
      {"sum of all", {x}, {}, [](const In& in, std::int64_t) { return sum(in[0]); }},
      {"cross_entropy",
       {x},
       {},
       [labels](const In& in, std::int64_t) { return cross_entropy(in[0], labels, {.label_smoothing = 0.1}); }},
      {"mean_squared_error", {x, y}, {}, [](const In& in, std::int64_t) { return mean_squared_error(in[0], in[1]); }},
  };
}

/// Value and gradients by all inputs, the upstream gradient being `seed`'s.
inline Outcome outcome(const BatchOperation& operation, const std::vector<Tensor>& inputs, std::int64_t first = 0,
                       Tensor seed = {}) {
  std::vector<Variable> leaves;
  for (const Tensor& input : inputs) leaves.push_back(Variable::leaf(input));
  Variable result = operation.compute(leaves, first);
  result.backward(seed.defined() ? seed : drawn(result.shape(), 99, 0.5, 1.5, result.device()));
  Outcome all{result.value(), {}};
  for (const Variable& leaf : leaves) all.gradients.push_back(leaf.gradient());
  return all;
}

}  // namespace assay::test
