// Training steps on command, so that scripts/benchmark.py can take turns between this process and PyTorch's.
#include "benchmark/train_step.hpp"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>

#include "benchmark/measure.hpp"

namespace assay::benchmark {
namespace {

/// 1024 samples of tokens. Three of four are one more than the one before, the others are random: a loss can fall but
/// not so far that gradients become subnormal.
Dataset synthetic_tokens(std::int64_t vocabulary, std::int64_t context) {
  Dataset data;
  data.name = "synthetic";
  data.count = 1024;
  data.features = data.labels_per_sample = context;
  data.classes = vocabulary;
  data.sample_shape = {context};
  std::mt19937 random;
  std::int64_t token = 0;
  for (std::int64_t i = 0; i <= data.count * context; ++i) {
    const auto number = static_cast<std::int64_t>(random());
    token = (number % 4 == 0 ? number / 4 : token + 1) % vocabulary;
    if (i < data.count * context) data.tokens.push_back(static_cast<std::int32_t>(token));
    if (i > 0) data.labels.push_back(static_cast<std::int32_t>(token));
  }
  return data;
}

}  // namespace

Workload workload_of(const std::string& model) {
  Workload workload;
  Configuration& configuration = workload.configuration;
  configuration.optimiser.weight_decay = 0.01;
  configuration.train.epochs = 0;
  configuration.train.steps = 1 << 30;
  configuration.trace.level = "none";
  if (model == "mlp") {
    configuration.model.layers = {784, 512, 512, 10};
    configuration.train.batch = 128;
    workload.data = load_datasets({});
    return workload;
  }
  std::istringstream text(model);
  std::int64_t vocabulary = 0, context = 0;
  char comma = 0;
  Configuration::Model& decoder = configuration.model;
  if (!(text >> vocabulary >> comma >> context >> comma >> decoder.width >> comma >> decoder.heads >> comma >>
        decoder.blocks >> comma >> decoder.hidden >> comma >> configuration.train.batch))
    throw std::invalid_argument("train_step: expected mlp or V,C,D,H,N,F,B, found " + model);
  decoder.kind = "decoder";
  decoder.activation = "gelu";
  workload.data.train = synthetic_tokens(vocabulary, context);
  return workload;
}

void serve_train_steps(const std::string& model, const std::string& level) {
  Workload workload = workload_of(model);
  workload.configuration.trace.level = level;
  Training training(workload.configuration, workload.data);
  std::int64_t steps = 0;
  while (std::cin >> steps) {
    double loss = 0;
    const Time time = time_of(steps, [&] { loss = training.advance().loss; });
    const nlohmann::json line = {{"wall", time.wall}, {"cpu", time.cpu}, {"waited", time.waited}, {"loss", loss}};
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace assay::benchmark
