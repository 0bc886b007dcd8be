// Every operation, layer and loss as a case for gradcheck.
#include "harness/gradcheck_cases.hpp"

#include <memory>

#include "autograd/checkpoint.hpp"
#include "autograd/ops.hpp"
#include "models/adapter.hpp"
#include "models/decoder.hpp"
#include "models/mlp.hpp"
#include "models/quantised.hpp"
#include "nn/embedding.hpp"
#include "nn/feed_forward.hpp"
#include "nn/layer_norm.hpp"
#include "numerics/philox.hpp"

namespace assay {
namespace {

using Leaves = std::vector<Variable>;

class Cases {
 public:
  explicit Cases(Device device) : device_(device) {}

  /// A leaf with elements uniform in [low, high).
  Variable leaf(const Shape& shape, double low = -1, double high = 1) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    ++seed_;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(low + (high - low) * numerics::uniform(seed_, i, 0));
    return Variable::leaf(Tensor::from(values, shape, device_));
  }
  /// A leaf whose elements are at least 0.2 from zero.
  Variable off_zero(const Shape& shape) {
    Variable x = leaf(shape, 0.2, 1);
    auto values = x.value().to(cpu).read<float>();
    std::vector<float> signs(values.begin(), values.end());
    for (std::size_t i = 0; i < signs.size(); i += 2) signs[i] = -signs[i];
    return Variable::leaf(Tensor::from(signs, shape, device_));
  }

  void add(const char* name, Leaves leaves, std::function<Variable(const Leaves&)> compute,
           std::vector<ZeroGradient> zeros = {}) {
    all.push_back({name, leaves, [leaves, compute] { return compute(leaves); }, std::move(zeros)});
  }

  /// The same for a layer: its parameters are leaves too.
  template <class Layer>
  void add_layer(const char* name, Variable x, std::shared_ptr<Layer> layer) {
    Leaves leaves = parameters_of(*layer);
    leaves.insert(leaves.begin(), x);
    add(
        name, leaves, [layer](const Leaves& in) { return layer->forward(in[0]); }, zeros_of(*layer, 1));
  }
  /// And for one of ids. Tables of a model get larger numbers than they begin with: behind those of 0.02 a norm bends
  /// too much for differences.
  template <class Layer>
  void add_layer_of_ids(const char* name, const std::vector<std::int32_t>& ids, const Shape& shape,
                        std::shared_ptr<Layer> layer, std::vector<ZeroGradient> zeros) {
    auto compute = [=](const Leaves& in) { return layer->forward(Tensor::from(ids, shape, in[0].device())); };
    for (const ZeroGradient& zero : zeros_of(*layer, 0)) zeros.push_back(zero);
    layer->to(device_);
    for (const NamedParameter& entry : layer->parameters())
      if (entry.name.ends_with("embedding.weight"))
        entry.parameter->set_value(leaf(entry.parameter->value().shape()).value());
    add(name, parameters_of(*layer), compute, std::move(zeros));
  }

  /// The same for an Mlp with adapters, whose "up" is not zero, perhaps over packed weights.
  void add_adapted(const char* name, Variable x, std::shared_ptr<Mlp> model, bool packed) {
    model->to(device_);
    if (packed) quantise(*model, {"fc1", "fc2"}, {.block = 32});
    attach_adapters(*model, {"fc1", "fc2"}, {.rank = 2, .alpha = 3}, 7);
    Leaves leaves{x};
    for (const NamedParameter& entry : lora_parameters(*model)) {
      entry.parameter->set_value(leaf(entry.parameter->value().shape()).value());
      leaves.push_back(entry.parameter->variable());
    }
    for (const NamedParameter& entry : model->parameters()) leaves.push_back(entry.parameter->variable());
    add(name, leaves, [model](const Leaves& in) {
      model->to(in[0].device());  // the codes follow
      return model->forward(in[0]);
    });
  }

  std::vector<GradcheckCase> all;

 private:
  /// Biases of keys, `before` leaves being ahead of the parameters.
  static std::vector<ZeroGradient> zeros_of(Module& layer, std::size_t before) {
    std::vector<ZeroGradient> zeros;
    for (const NamedParameter& entry : layer.parameters()) {
      if (entry.name == "key.bias" || entry.name.ends_with(".key.bias"))
        zeros.push_back({before, 0, entry.parameter->value().size(), "it moves all scores of a query by as much"});
      ++before;
    }
    return zeros;
  }
  Leaves parameters_of(Module& layer) const {
    layer.to(device_);
    Leaves leaves;
    for (const NamedParameter& entry : layer.parameters()) leaves.push_back(entry.parameter->variable());
    return leaves;
  }

  Device device_;
  std::uint64_t seed_ = 0;
};

template <class T>
Tensor like(const Variable& x, const std::vector<T>& values, const Shape& shape) {
  return Tensor::from(values, shape, x.device());
}

}  // namespace

std::vector<GradcheckCase> gradcheck_cases(Device device) {
  Cases c(device);
  c.add("add", {c.leaf({3, 5}), c.leaf({5})}, [](const Leaves& in) { return add(in[0], in[1]); });
  c.add("subtract", {c.leaf({3, 5}), c.leaf({3, 1})}, [](const Leaves& in) { return subtract(in[0], in[1]); });
  c.add("multiply", {c.leaf({3, 5}), c.leaf({1, 5})}, [](const Leaves& in) { return multiply(in[0], in[1]); });
  c.add("divide", {c.leaf({3, 5}), c.leaf({5}, 0.5, 2)}, [](const Leaves& in) { return divide(in[0], in[1]); });
  c.add("exp", {c.leaf({3, 5})}, [](const Leaves& in) { return exp(in[0]); });
  c.add("log", {c.leaf({3, 5}, 0.5, 2)}, [](const Leaves& in) { return log(in[0]); });
  c.add("tanh", {c.leaf({3, 5})}, [](const Leaves& in) { return tanh(in[0]); });
  c.add("sigmoid", {c.leaf({3, 5})}, [](const Leaves& in) { return sigmoid(in[0]); });
  c.add("gelu", {c.leaf({3, 5})}, [](const Leaves& in) { return gelu(in[0]); });
  c.add("relu", {c.off_zero({3, 5})}, [](const Leaves& in) { return relu(in[0]); });
  c.add("sum", {c.leaf({3, 5, 2})}, [](const Leaves& in) { return sum(in[0], {0, 2}); });
  c.add("mean", {c.leaf({3, 5, 2})}, [](const Leaves& in) { return mean(in[0], {1}); });
  c.add("maximum", {c.leaf({3, 5})}, [](const Leaves& in) { return maximum(in[0], 0); });
  c.add("softmax", {c.leaf({3, 5})}, [](const Leaves& in) { return softmax(in[0]); });
  c.add("log_softmax", {c.leaf({3, 5})}, [](const Leaves& in) { return log_softmax(in[0]); });
  c.add("layer_norm", {c.leaf({2, 3, 5}), c.leaf({5}, 0.5, 1.5), c.leaf({5})},
        [](const Leaves& in) { return layer_norm(in[0], in[1], in[2], 1e-5); });
  const auto attends = [&](std::int64_t queries, std::int64_t keys, bool masked, bool materialised) {
    c.add("attention", {c.leaf({2, queries, 6}), c.leaf({2, keys, 6}), c.leaf({2, keys, 6})}, [=](const Leaves& in) {
      std::vector<std::uint8_t> kept;
      for (std::int64_t i = 0; masked && i < 2 * 3 * queries * keys; ++i) kept.push_back(i % 5 != 2);
      const Tensor mask = masked ? like(in[0], kept, {2, 3, queries, keys}) : Tensor();
      return attention(in[0], in[1], in[2], mask, {.heads = 3, .p = masked ? 0.3 : 0, .materialised = materialised});
    });
  };
  attends(4, 4, false, false);
  attends(4, 4, true, true);
  attends(2, 5, true, false);
  c.add("matmul", {c.leaf({2, 3, 5}), c.leaf({5, 4})}, [](const Leaves& in) { return matmul(in[0], in[1]); });
  c.add("linear", {c.leaf({2, 3, 5}), c.leaf({4, 5}), c.leaf({4})},
        [](const Leaves& in) { return linear(in[0], in[1], in[2]); });
  c.add("linear", {c.leaf({3, 5}), c.leaf({4, 5}), c.leaf({4})},
        [](const Leaves& in) { return linear(in[0], in[1], in[2], {.relu = true}); });
  const Tensor dense = c.leaf({6, 11}).value();
  c.add("nf4_linear", {c.leaf({3, 11}), c.leaf({6})}, [dense](const Leaves& in) {
    return nf4_linear(in[0], kernels::quantise(dense.to(in[0].device()), {.block = 32}), in[1]);
  });
  c.add("views", {c.leaf({3, 5, 2})}, [](const Leaves& in) {
    return slice(reshape(transpose(in[0], 0, 1), {15, 2}), 0, 3, 15);
  });
  c.add("dropout", {c.leaf({3, 5})}, [](const Leaves& in) {
    const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0};
    return dropout(in[0], like(in[0], mask, {3, 5}), 0.4);
  });
  c.add("embedding", {c.leaf({5, 3})},
        [](const Leaves& in) {
          return embedding(in[0], like(in[0], std::vector<std::int32_t>{4, 0, 4, 1}, {2, 2}));
        },
        {{0, 6, 12, "rows 2 and 3 are not used"}});
  c.add("cross_entropy", {c.leaf({4, 5})},
        [](const Leaves& in) {
          return cross_entropy(in[0], like(in[0], std::vector<std::int32_t>{3, -100, 0, 4}, {4}),
                               {.label_smoothing = 0.1});
        },
        {{0, 5, 10, "row 1 is ignored"}});
  c.add("mean_squared_error", {c.leaf({3, 5}), c.leaf({3, 5})},
        [](const Leaves& in) { return mean_squared_error(in[0], in[1]); });
  c.add("checkpoint", {c.leaf({3, 5}), c.leaf({4, 5})}, [](const Leaves& in) {
    return checkpoint([](const Leaves& all) { return gelu(linear(all[0], all[1])); }, in);
  });

  Random random(7);
  c.add_layer("Linear", c.leaf({3, 5}), std::make_shared<Linear>(5, 4, random["linear"]));
  c.add_layer_of_ids("Embedding", {3, 0, 3}, {3}, std::make_shared<Embedding>(4, 5, random["embedding"]),
                     {{0, 5, 15, "rows 1 and 2 are not used"}});
  c.add_layer("LayerNorm", c.leaf({3, 5}), std::make_shared<LayerNorm>(5));
  c.add_layer("FeedForward", c.leaf({3, 5}),
              std::make_shared<FeedForward>(5, 7, Activation::gelu, random["feed_forward"]));
  c.add_layer("Dropout", c.leaf({3, 5}), std::make_shared<Dropout>(0.4, random["dropout"]));
  c.add_layer("Mlp", c.leaf({3, 5}),
              std::make_shared<Mlp>(std::vector<std::int64_t>{5, 7, 4}, Activation::gelu, 0.2, random["mlp"]));
  c.add_layer("CausalSelfAttention", c.leaf({2, 3, 4}),
              std::make_shared<CausalSelfAttention>(4, 2, 0.2, false, random["attention"]));
  DecoderOptions decoder{.vocabulary = 5, .context = 4, .width = 4, .heads = 2, .blocks = 1, .hidden = 6};
  decoder.dropout = 0.2;
  c.add_layer("TransformerBlock", c.leaf({2, 3, 4}), std::make_shared<TransformerBlock>(decoder, random["block"]));
  c.add_layer_of_ids(
      "DecoderOnlyTransformer", {3, 0, 3, 1, 1, 0}, {2, 3},
      std::make_shared<DecoderOnlyTransformer>(decoder, random["decoder"]),
      {{0, 8, 12, "token 2 is not used"}, {0, 16, 20, "token 4 is not used"}, {1, 12, 16, "position 3 is not used"}});
  decoder.tied = true;
  c.add_layer_of_ids("DecoderOnlyTransformer", {3, 0, 3, 1, 1, 0}, {2, 3},
                     std::make_shared<DecoderOnlyTransformer>(decoder, random["tied"]),
                     {{1, 12, 16, "position 3 is not used"}});
  const std::vector<std::int64_t> widths{5, 7, 4};
  c.add_adapted("LowRankAdapter", c.leaf({3, 5}), std::make_shared<Mlp>(widths, Activation::tanh, 0, random["dense"]),
                false);
  c.add_adapted("LowRankAdapter", c.leaf({3, 5}), std::make_shared<Mlp>(widths, Activation::tanh, 0, random["packed"]),
                true);
  return std::move(c.all);
}

}  // namespace assay
