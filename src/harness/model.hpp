// The models that a configuration can ask for, as training sees them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "data/datasets.hpp"
#include "harness/configuration.hpp"
#include "models/decoder.hpp"
#include "nn/module.hpp"
#include "numerics/random.hpp"

namespace assay {

/// A module with its forward: from samples, values [rows, features] or tokens [rows, features], to logits, a row of
/// classes for each label. `masks` are the streams of its dropout masks, in the order of their use.
struct ConfiguredModel {
  std::shared_ptr<Module> module;
  std::function<Variable(const Tensor& samples)> forward;
  std::vector<std::string> masks;

  /// What a run updates and its checkpoints hold: the parameters of the adapters if there are any, else all.
  ParameterList trained() const;
};

/// SHA-256 of a list of parameters (N9).
std::string digest_of(const ParameterList& parameters);

/// The model of `model.kind` for such data: "mlp" takes values, "decoder" tokens, its vocabulary and context being
/// those of the data. With `model.base` its values are those of the base, whose layers of `quantise.layers` become
/// codes and those of `adapter.layers` get adapters, drawn from the streams of the seed; the base is frozen then.
/// Errors: RUN-1 naming the key whose value does not fit the data or the base; what reading the base and the modules
/// refuse.
///
///     ConfiguredModel model = make_model(configuration, data.train, Random(7));
ConfiguredModel make_model(const Configuration& configuration, const Dataset& data, const Random& random);

/// All that a run of this configuration reads: its data, and the digest of its base among those of the training set's
/// files, as "model.base". Errors: as `load_datasets` and `make_model`.
Datasets load_inputs(const Configuration& configuration);

/// The decoder of bytes that a run had at a checkpoint, on the cpu and without its data; `source` names the checkpoint
/// in messages. Of a run with adapters the base is read too.
/// Errors: RUN-1 for a model of another kind, REPL-1 for parameters that are not those of its configuration.
///
///     auto model = load_decoder(load_checkpoint(path), path);
std::shared_ptr<DecoderOnlyTransformer> load_decoder(const Checkpoint& checkpoint, const std::string& source);

/// Every parameter of the model of a checkpoint, dense: 4-bit weights are their numbers, adapters are merged into their
/// weights. Errors: as `load_decoder`, LORA-5.
std::vector<NamedArray> dense_parameters(const Checkpoint& checkpoint, const std::string& source);

}  // namespace assay
