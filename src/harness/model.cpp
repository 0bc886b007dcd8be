// Which kind of model takes which data.
#include "harness/model.hpp"

#include "autograd/views.hpp"
#include "base/error.hpp"
#include "models/decoder.hpp"
#include "models/mlp.hpp"

namespace assay {
namespace {

Model mlp(const Configuration& configuration, const Dataset& data, const Random& random) {
  const std::vector<std::int64_t>& layers = configuration.model.layers;
  const auto require = [&](const std::string& what, std::int64_t expected, std::int64_t found) {
    if (expected != found)
      throw Error("RUN-1", configuration.source + ": model.layers",
                  what + " " + std::to_string(expected) + " as in the " + data.name + " set", std::to_string(found));
  };
  require("a first width of", data.features, layers.front());
  require("a last width of", data.classes, layers.back());
  auto module = std::make_shared<Mlp>(layers, parse_activation(configuration.model.activation),
                                      configuration.model.dropout, random);
  return {module, [model = module.get()](const Tensor& x) { return model->forward(x); }, module->mask_names()};
}

Model decoder(const Configuration& configuration, const Dataset& data, const Random& random) {
  const Configuration::Model& m = configuration.model;
  auto module = std::make_shared<DecoderOnlyTransformer>(
      DecoderOptions{data.classes, data.features, m.width, m.heads, m.blocks, m.hidden, parse_activation(m.activation),
                     m.dropout, m.tied, m.attention == "materialised", m.checkpointed},
      random);
  auto forward = [model = module.get()](const Tensor& ids) {
    const Variable logits = model->forward(ids);
    return reshape(logits, {ids.size(), logits.shape()[-1]});
  };
  return {module, forward, module->mask_names()};
}

}  // namespace

Model make_model(const Configuration& configuration, const Dataset& data, const Random& random) {
  const bool of_tokens = !data.tokens.empty(), is_decoder = configuration.model.kind == "decoder";
  if (of_tokens != is_decoder)
    throw Error("RUN-1", configuration.source + ": model.kind",
                std::string(of_tokens ? "decoder, because the " : "mlp, because the ") + data.name + " set holds " +
                    (of_tokens ? "tokens" : "values"),
                configuration.model.kind);
  return is_decoder ? decoder(configuration, data, random) : mlp(configuration, data, random);
}

}  // namespace assay
