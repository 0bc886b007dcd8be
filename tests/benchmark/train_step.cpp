// Training steps on command, so that scripts/benchmark.py can take turns between this process and PyTorch's.
#include "benchmark/train_step.hpp"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "benchmark/measure.hpp"

namespace assay::benchmark {

void serve_train_steps() {
  const Datasets data = load_datasets({});
  Training plain(usual_training(false), data), digests(usual_training(true), data);
  std::string kind;
  std::int64_t steps = 0;
  while (std::cin >> kind >> steps) {
    Training& training = kind == "digests" ? digests : plain;
    double loss = 0;
    const Time time = time_of(steps, [&] { loss = training.advance().loss; });
    const nlohmann::json line = {{"wall", time.wall}, {"cpu", time.cpu}, {"waited", time.waited}, {"loss", loss}};
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
}

}  // namespace assay::benchmark
