// The models that a configuration can ask for, as training sees them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "data/dataset.hpp"
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
};

/// The model of `model.kind` for such data: "mlp" takes values, "decoder" tokens, its vocabulary and context being
/// those of the data. Errors: RUN-1 naming the key whose value does not fit the data; what the modules refuse.
///
///     ConfiguredModel model = make_model(configuration, data.train, Random(7));
ConfiguredModel make_model(const Configuration& configuration, const Dataset& data, const Random& random);

/// The decoder of bytes that a run had at a checkpoint, on the cpu and without its data; `source` names the checkpoint
/// in messages. Errors: RUN-1 for a model of another kind, REPL-1 for parameters that are not those of its
/// configuration.
///
///     auto model = load_decoder(load_checkpoint(path), path);
std::shared_ptr<DecoderOnlyTransformer> load_decoder(const Checkpoint& checkpoint, const std::string& source);

}  // namespace assay
