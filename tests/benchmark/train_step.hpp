// The training that benchmarks measure.
#pragma once

#include "harness/training.hpp"

namespace assay::benchmark {

/// Fashion-MNIST by 784-512-512-10 with ReLU, batches of 128, cross entropy, AdamW with the usual values.
inline Configuration usual_training(bool digests) {
  Configuration configuration;
  configuration.model.layers = {784, 512, 512, 10};
  configuration.optimiser.weight_decay = 0.01;
  configuration.train.batch = 128;
  configuration.train.epochs = 0;
  configuration.train.steps = 1 << 30;  // the benchmark ends it
  configuration.trace.level = digests ? "step" : "none";
  return configuration;
}

}  // namespace assay::benchmark
