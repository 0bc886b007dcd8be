// Dataset: labelled samples in host memory, and the ways to cut it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/idx.hpp"

namespace assay {

/// SHA-256 of one source of the data, 64 hexadecimal digits.
struct DataDigest {
  std::string file;
  std::string sha256;
};

/// Samples with their classes. A sample is either values with one label, or tokens with a label for each: the class of
/// the token that follows. Every value is finite, every label and token is in [0, classes): `check` has seen to it.
struct Dataset {
  std::string name;
  std::int64_t count = 0;                  ///< samples
  std::int64_t features = 0;               ///< values or tokens of one sample: the product of `sample_shape`
  std::int64_t classes = 0;                ///< of tokens: the vocabulary
  std::int64_t labels_per_sample = 1;      ///< of tokens: `features`
  std::vector<std::int64_t> sample_shape;  ///< without the sample axis, e.g. {28, 28}; of tokens {context}
  std::vector<float> inputs;               ///< [count, features], row-major; none when the samples are tokens
  std::vector<std::int32_t> tokens;        ///< [count, features], row-major; none when the samples are values
  std::vector<std::int32_t> labels;        ///< [count, labels_per_sample]
  std::vector<DataDigest> digests;
};

/// Inputs or tokens [ids, features] and labels [ids, labels_per_sample] of some samples.
struct Batch {
  std::vector<float> inputs;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;
};

/// A training set and the test set that came with it.
struct TrainAndTest {
  Dataset train, test;
};

/// Refuses (RUN-3) an empty set, extents that do not fit, a value that is not finite and a label or token outside
/// [0, classes), naming the set and the first offending index.
void check(const Dataset& data);

/// The samples of an image array [count, …] and a label array [count].
///
/// Unsigned bytes become binary32(x) / 255, float32 stays as it is. `classes` 0 means: one more than the largest label.
/// Errors: FILE-6 naming the file, when counts differ, labels are no vector of unsigned bytes, a label is not below
/// `classes`, or a value is not finite.
Dataset from_idx(std::string name, const IdxArray& images, const IdxArray& labels, std::int64_t classes);

/// The samples [begin, begin + count), with the digests of the whole.
Dataset slice(const Dataset& data, std::int64_t begin, std::int64_t count);

/// Copies the samples with these ids, in their order; an id outside [0, count) is refused (RUN-3).
Batch gather(const Dataset& data, std::span<const std::int64_t> ids);

}  // namespace assay
