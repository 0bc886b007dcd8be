// From `data.*` of a configuration to the three sets of a run.
#include "data/datasets.hpp"

#include <utility>

#include "base/error.hpp"
#include "data/fashion_mnist.hpp"

namespace assay {
namespace {

TrainAndTest load_all(const DataOptions& options) {
  if (options.kind == "fashion_mnist") return load_fashion_mnist(options.path, options.digests);
  if (options.kind == "idx") return load_idx_folder(options.path, options.digests);
  if (options.kind == "synthetic")
    return {make_synthetic(options.synthetic, SyntheticPart::train),
            make_synthetic(options.synthetic, SyntheticPart::test)};
  throw Error("RUN-3", "data.kind", "fashion_mnist, idx or synthetic", options.kind);
}

}  // namespace

Datasets load_datasets(const DataOptions& options) {
  auto [train, test] = load_all(options);
  if (options.limit > 0) {
    if (options.limit < train.count) train = slice(train, 0, options.limit);
    if (options.limit < test.count) test = slice(test, 0, options.limit);
  }
  if (options.validation < 0 || options.validation >= train.count)
    throw Error("RUN-3", "data.validation", "fewer than the " + std::to_string(train.count) + " training samples",
                std::to_string(options.validation));
  const std::int64_t kept = train.count - options.validation;
  Datasets sets;
  sets.validation = slice(train, kept, options.validation);
  sets.validation.name = "validation";
  sets.train = options.validation > 0 ? slice(train, 0, kept) : std::move(train);
  sets.test = std::move(test);
  return sets;
}

}  // namespace assay
