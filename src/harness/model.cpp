// Which kind of model takes which data.
#include "harness/model.hpp"

#include "autograd/views.hpp"
#include "base/error.hpp"
#include "data/byte_tokeniser.hpp"
#include "models/mlp.hpp"
#include "models/stored_tensor.hpp"
#include "optim/replicas.hpp"

namespace assay {
namespace {

ConfiguredModel mlp(const Configuration& configuration, const Dataset& data, const Random& random) {
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

DecoderOptions decoder_options(const Configuration::Model& m, std::int64_t vocabulary, std::int64_t context) {
  return {vocabulary,
          context,
          m.width,
          m.heads,
          m.blocks,
          m.hidden,
          parse_activation(m.activation),
          m.dropout,
          m.tied,
          m.attention == "materialised",
          m.checkpointed};
}

ConfiguredModel decoder(const Configuration& configuration, const Dataset& data, const Random& random) {
  auto module = std::make_shared<DecoderOnlyTransformer>(
      decoder_options(configuration.model, data.classes, data.features), random);
  auto forward = [model = module.get()](const Tensor& ids) {
    const Variable logits = model->forward(ids);
    return reshape(logits, {ids.size(), logits.shape()[-1]});
  };
  return {module, forward, module->mask_names()};
}

}  // namespace

ConfiguredModel make_model(const Configuration& configuration, const Dataset& data, const Random& random) {
  const bool of_tokens = !data.tokens.empty(), is_decoder = configuration.model.kind == "decoder";
  if (of_tokens != is_decoder)
    throw Error("RUN-1", configuration.source + ": model.kind",
                std::string(of_tokens ? "decoder, because the " : "mlp, because the ") + data.name + " set holds " +
                    (of_tokens ? "tokens" : "values"),
                configuration.model.kind);
  return is_decoder ? decoder(configuration, data, random) : mlp(configuration, data, random);
}

std::shared_ptr<DecoderOnlyTransformer> load_decoder(const Checkpoint& checkpoint, const std::string& source) {
  const Configuration configuration =
      parse_configuration(checkpoint.configuration.toml, source, checkpoint.configuration.overrides);
  if (configuration.model.kind != "decoder")
    throw Error("RUN-1", source + ": model.kind", "decoder, a model of bytes", configuration.model.kind);
  auto model = std::make_shared<DecoderOnlyTransformer>(
      decoder_options(configuration.model, byte_vocabulary, configuration.data.context), Random(0));
  ParameterList stored;
  for (const StoredParameter& entry : checkpoint.parameters)
    stored.push_back({entry.name, Parameter(tensor_of(entry.value, cpu)).handle()});
  copy_parameters(stored, model->parameters());
  return model;
}

}  // namespace assay
