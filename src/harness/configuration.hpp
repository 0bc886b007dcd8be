// Configuration: everything that an experiment file and `--set` can say, checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/datasets.hpp"

namespace assay {

/// One experiment. Each member is the key of the same dotted name (`configuration.train.batch` is `train.batch`) and
/// holds its default; what a key means and allows is said once, in `configuration_keys`.
struct Configuration {
  struct Experiment {
    std::string name = "unnamed";
    std::int64_t seed = 0;
  } experiment;

  DataOptions data;

  struct Model {
    std::string kind = "mlp";
    std::vector<std::int64_t> layers = {784, 128, 10};
    std::int64_t width = 128;
    std::int64_t heads = 4;
    std::int64_t blocks = 4;
    std::int64_t hidden = 512;
    bool tied = false;
    std::string attention = "flash";
    bool checkpointed = false;
    std::string activation = "relu";
    double dropout = 0;
    std::string perturbed;
    std::string base;
  } model;

  struct Adapter {
    std::vector<std::string> layers;
    std::int64_t rank = 8;
    double alpha = 16;
  } adapter;

  struct Quantise {
    std::vector<std::string> layers;
    std::int64_t block = 64;
    bool double_quantisation = true;
  } quantise;

  struct Loss {
    std::string kind = "cross_entropy";
    double label_smoothing = 0;
  } loss;

  struct Optimiser {
    std::string kind = "adamw";
    double learning_rate = 0.001;
    double momentum = 0;
    bool nesterov = false;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
  } optimiser;

  struct Schedule {
    std::string kind = "constant";
    std::int64_t period = 0;
    double factor = 0.1;
    double warmup = 0.3;
    double start = 0.04;
    double minimum = 0;
  } schedule;

  struct Train {
    std::int64_t batch = 64;
    std::int64_t epochs = 1;
    std::int64_t steps = 0;
    std::int64_t shards = 1;
    double clip_norm = 0;
    std::int64_t validate_every = 0;
    std::int64_t evaluation_batch = 1000;
  } train;

  struct Checkpoint {
    std::int64_t every = 0;
    std::int64_t keep = 3;
    bool keep_best = true;
  } checkpoint;

  struct Run {
    std::string device = "cpu";
    std::int64_t threads = 0;
    std::string numerics = "exact";
    bool tf32 = false;
  } run;

  struct Trace {
    std::string level = "step";
    std::vector<std::string> tensors;
  } trace;

  std::string source;                  ///< path of the experiment file, or what stands for it in messages
  std::string text;                    ///< the experiment file as read
  std::vector<std::string> overrides;  ///< "a.b=c", in the order given
};

/// Reads an experiment file (TOML) and applies overrides of the form `key=value`, the last one of a key winning.
///
/// The value of an override is TOML; what is not TOML is taken as a string, so `optimiser.kind=sgd` needs no quotes.
/// Exactly one of `train.epochs` and `train.steps` is non-zero afterwards: giving one in an override replaces the
/// other one of the file.
/// Errors: RUN-1 naming file, line and column (or the override) and the key, for a syntax error, an unknown key (with
/// the nearest known one), a wrong type, a value outside its range, both of `train.epochs` and `train.steps` in one
/// place, and a file that cannot be read.
///
///     Configuration configuration = load_configuration("experiments/fashion_mnist/smoke.toml", {"train.steps=200"});
Configuration load_configuration(const std::string& path, const std::vector<std::string>& overrides = {});

/// The same from text; `source` stands for the file in messages.
Configuration parse_configuration(const std::string& text, const std::string& source,
                                  const std::vector<std::string>& overrides = {});

/// Every key with its final value as one flat JSON object, dotted names sorted: {"checkpoint.every": 0, …}.
std::string resolved_json(const Configuration& configuration);

}  // namespace assay
