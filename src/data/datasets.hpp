// What a configuration can ask for under `data.`, and the three sets that come of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "data/dataset.hpp"
#include "data/synthetic.hpp"

namespace assay {

/// The keys under `data.` of an experiment file, with their defaults.
struct DataOptions {
  std::string kind = "fashion_mnist";  ///< fashion_mnist | idx | synthetic | text | bible_kjv
  std::string path = "/usr/share/datasets/fashion-mnist";
  std::int64_t context = 64;
  std::int64_t validation = 0;
  std::int64_t test = 256;
  std::int64_t limit = 0;
  std::map<std::string, std::string> digests = {};
  SyntheticOptions synthetic = {};
};

/// What a run trains on, chooses its best checkpoint by, and reports in the end.
struct Datasets {
  Dataset train, validation, test;
};

/// Loads the sets, in this order: each is cut to its first `limit` samples (0: all of them), then the last
/// `validation` samples of the training set become the validation set (0: it stays empty).
///
/// Errors: RUN-3 naming the key or the package that brings missing data, for a file with another SHA-256 than `digests`
/// says, and for a digest of what was not read; FILE-6 for a file that is damaged or does not hold what its name says.
///
///     Datasets data = load_datasets({.validation = 5000});  // Fashion-MNIST: 55,000 + 5,000 + 10,000 samples
Datasets load_datasets(const DataOptions& options);

}  // namespace assay
