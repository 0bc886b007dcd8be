// From `data.*` of a configuration to the three sets of a run.
#include "data/datasets.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "data/fashion_mnist.hpp"
#include "data/text.hpp"

namespace assay {
namespace {

TrainAndTest load_all(const DataOptions& options) {
  if (options.kind == "fashion_mnist") return load_fashion_mnist(options.path);
  if (options.kind == "idx") return load_idx_folder(options.path);
  if (options.kind == "synthetic")
    return {make_synthetic(options.synthetic, SyntheticPart::train),
            make_synthetic(options.synthetic, SyntheticPart::test)};
  if (options.kind == "text") return cut_text(read_text(options.path), options.context, options.test);
  if (options.kind == "bible_kjv") return cut_text(read_bible_kjv(), options.context, options.test);
  throw Error("RUN-3", "data.kind", "fashion_mnist, idx, synthetic, text or bible_kjv", options.kind);
}

void check_digests(const TrainAndTest& data, const std::map<std::string, std::string>& expected) {
  std::map<std::string, std::string> found;
  for (const Dataset* set : {&data.train, &data.test})
    for (const DataDigest& digest : set->digests) found[digest.file] = digest.sha256;
  for (const auto& [file, digest] : expected) {
    const auto entry = found.find(file);
    if (entry == found.end()) throw Error("RUN-3", "data.digests", "files that are read", "\"" + file + "\"");
    if (entry->second != digest && !sabotaged("any_data_are_taken"))
      throw Error("RUN-3", "data.digests: SHA-256 of " + file, digest, entry->second);
  }
}

}  // namespace

Datasets load_datasets(const DataOptions& options) {
  TrainAndTest all = load_all(options);
  check_digests(all, options.digests);
  auto& [train, test] = all;
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
