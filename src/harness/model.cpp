// Models as configurations describe them: drawn or from a base, with adapters beside it, or as a checkpoint has them.
#include "harness/model.hpp"

#include <algorithm>

#include "autograd/views.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "checkpoint/gpt2_names.hpp"
#include "checkpoint/run_checkpoint.hpp"
#include "checkpoint/safetensors.hpp"
#include "data/byte_tokeniser.hpp"
#include "kernels/digest.hpp"
#include "models/adapter.hpp"
#include "models/mlp.hpp"
#include "models/quantised.hpp"
#include "models/stored_tensor.hpp"
#include "numerics/set_digest.hpp"
#include "optim/replicas.hpp"

namespace assay {
namespace {

/// Errors: RUN-1 for widths that are not those of the data.
void require_widths(const Configuration& configuration, const Dataset& data) {
  const std::vector<std::int64_t>& layers = configuration.model.layers;
  const auto require = [&](const std::string& what, std::int64_t expected, std::int64_t found) {
    if (expected != found)
      throw Error("RUN-1", configuration.source + ": model.layers",
                  what + " " + std::to_string(expected) + " as in the " + data.name + " set", std::to_string(found));
  };
  require("a first width of", data.features, layers.front());
  require("a last width of", data.classes, layers.back());
}

ConfiguredModel mlp(const Configuration::Model& m, const Random& random) {
  auto module = std::make_shared<Mlp>(m.layers, parse_activation(m.activation), m.dropout, random);
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

ConfiguredModel decoder(const DecoderOptions& options, const Random& random) {
  auto module = std::make_shared<DecoderOnlyTransformer>(options, random);
  auto forward = [model = module.get()](const Tensor& ids) {
    const Variable logits = model->forward(ids);
    return reshape(logits, {ids.size(), logits.shape()[-1]});
  };
  return {module, forward, module->mask_names()};
}

ParameterList parameters_of(const std::vector<NamedArray>& arrays) {
  ParameterList list;
  for (const NamedArray& entry : arrays) list.push_back({entry.name, Parameter(tensor_of(entry.array, cpu)).handle()});
  return list;
}

std::vector<NamedArray> stored_parameters(const Checkpoint& checkpoint) {
  std::vector<NamedArray> arrays;
  for (const StoredParameter& entry : checkpoint.parameters) arrays.push_back({entry.name, entry.value});
  return arrays;
}

bool has_gpt2_names(const std::vector<NamedArray>& arrays) {
  return std::any_of(arrays.begin(), arrays.end(),
                     [](const NamedArray& entry) { return entry.name.ends_with("wte.weight"); });
}

/// The parameters that `model.base` names, as float32.
ParameterList base_parameters(const std::string& source) {
  if (!source.ends_with(".safetensors")) return parameters_of(dense_parameters(checkpoint_of(source), source));
  const std::vector<NamedArray> arrays = load_safetensors(source).arrays;
  return parameters_of(has_gpt2_names(arrays) ? from_gpt2_names(arrays) : arrays);
}

/// Gives a model that was drawn what `model.base`, `quantise` and `adapter` say.
void start_from_base(Module& model, const Configuration& configuration) {
  const std::string& base = configuration.model.base;
  if (base.empty() || sabotaged("base_is_not_read")) return;
  try {
    copy_parameters(base_parameters(base), model.parameters());
  } catch (const Error& error) {
    if (error.id() != "REPL-1") throw;
    throw Error("RUN-1", configuration.source + ": model.base " + base + ", " + error.operation(), error.expected(),
                error.found());
  }
  const auto& [quantised, block, double_quantisation] = configuration.quantise;
  if (!quantised.empty()) quantise(model, quantised, {block, double_quantisation});
  const auto& [adapted, rank, alpha] = configuration.adapter;
  if (adapted.empty()) return;
  for (const NamedParameter& entry : model.parameters())
    if (!sabotaged("base_is_trained_too")) entry.parameter->freeze();
  attach_adapters(model, adapted, {rank, alpha}, static_cast<std::uint64_t>(configuration.experiment.seed));
}

ConfiguredModel model_of(const Configuration& configuration, std::int64_t vocabulary, std::int64_t context,
                         const Random& random) {
  const Configuration::Model& m = configuration.model;
  ConfiguredModel model =
      m.kind == "decoder" ? decoder(decoder_options(m, vocabulary, context), random) : mlp(m, random);
  start_from_base(*model.module, configuration);
  return model;
}

Configuration configuration_of(const Checkpoint& checkpoint, const std::string& source) {
  return parse_configuration(checkpoint.configuration.toml, source, checkpoint.configuration.overrides);
}

/// The model that a run had at a checkpoint, a decoder being one of bytes.
std::shared_ptr<Module> model_at(const Checkpoint& checkpoint, Configuration configuration) {
  if (configuration.adapter.layers.empty()) configuration.model.base.clear();  // the checkpoint holds all of it
  const ConfiguredModel model = model_of(configuration, byte_vocabulary, configuration.data.context, Random(0));
  copy_parameters(parameters_of(stored_parameters(checkpoint)), model.trained());
  return model.module;
}

}  // namespace

ParameterList ConfiguredModel::trained() const {
  const ParameterList adapters = lora_parameters(*module);
  return adapters.empty() || sabotaged("base_is_trained_too") ? module->parameters() : adapters;
}

std::string digest_of(const ParameterList& parameters) {
  std::vector<DigestedTensor> set;
  for (const NamedParameter& entry : parameters) {
    const Tensor& value = entry.parameter->value();
    set.push_back({entry.name, name_of(value.dtype()), value.shape().extents(), kernels::digest(value)});
  }
  return digest_of_set(set);
}

ConfiguredModel make_model(const Configuration& configuration, const Dataset& data, const Random& random) {
  const bool of_tokens = !data.tokens.empty(), is_decoder = configuration.model.kind == "decoder";
  if (of_tokens != is_decoder)
    throw Error("RUN-1", configuration.source + ": model.kind",
                std::string(of_tokens ? "decoder, because the " : "mlp, because the ") + data.name + " set holds " +
                    (of_tokens ? "tokens" : "values"),
                configuration.model.kind);
  if (!is_decoder) require_widths(configuration, data);
  return model_of(configuration, data.classes, data.features, random);
}

Datasets load_inputs(const Configuration& configuration) {
  Datasets data = load_datasets(configuration.data);
  const std::string& base = configuration.model.base;
  if (!base.empty()) data.train.digests.push_back({"model.base", digest_of(base_parameters(base))});
  return data;
}

std::shared_ptr<DecoderOnlyTransformer> load_decoder(const Checkpoint& checkpoint, const std::string& source) {
  const Configuration configuration = configuration_of(checkpoint, source);
  if (configuration.model.kind != "decoder")
    throw Error("RUN-1", source + ": model.kind", "decoder, a model of bytes", configuration.model.kind);
  return std::static_pointer_cast<DecoderOnlyTransformer>(model_at(checkpoint, configuration));
}

std::vector<NamedArray> dense_parameters(const Checkpoint& checkpoint, const std::string& source) {
  const Configuration configuration = configuration_of(checkpoint, source);
  if (configuration.adapter.layers.empty()) return stored_parameters(checkpoint);
  const std::shared_ptr<Module> model = model_at(checkpoint, configuration);
  if (!configuration.quantise.layers.empty()) dequantise(*model, configuration.quantise.layers);
  merge(*model);
  std::vector<NamedArray> arrays;
  for (const NamedParameter& entry : model->parameters())
    arrays.push_back({entry.name, stored<float>(entry.parameter->value())});
  return arrays;
}

}  // namespace assay
