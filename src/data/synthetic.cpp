// Random boxes as a classification problem.
#include "data/synthetic.hpp"

#include <cmath>
#include <span>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "numerics/philox.hpp"
#include "numerics/random.hpp"

namespace assay {

Dataset make_synthetic(const SyntheticOptions& options, SyntheticPart part) {
  constexpr std::int64_t most_values = std::int64_t{1} << 28;
  const auto refuse = [](const std::string& key, std::string expected, std::string found) {
    throw Error("RUN-3", "data.synthetic." + key, std::move(expected), std::move(found));
  };
  const auto [samples, features, classes, noise_option] = options;
  if (samples < 1) refuse("samples", "at least 1", std::to_string(samples));
  if (features < 1) refuse("features", "at least 1", std::to_string(features));
  if (classes < 1) refuse("classes", "at least 1", std::to_string(classes));
  if (!std::isfinite(noise_option) || noise_option < 0)
    refuse("noise", "a finite number >= 0", std::to_string(noise_option));
  if (samples > most_values / features)
    refuse("samples", "at most 2^28 values in all", std::to_string(samples) + " samples");
  if (classes > most_values / features)
    refuse("classes", "at most 2^28 values in all", std::to_string(classes) + " classes");

  Dataset data;
  data.name = part == SyntheticPart::train ? "train" : "test";
  data.count = samples;
  data.features = features;
  data.classes = classes;
  data.sample_shape = {features};
  data.inputs.reserve(static_cast<std::size_t>(samples * features));
  data.labels.reserve(static_cast<std::size_t>(samples));
  const std::uint64_t centre_key = stream_key(0, "data.synthetic.centres");
  const std::uint64_t sample_key = stream_key(0, "data.synthetic.samples");
  const float noise = static_cast<float>(noise_option);
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t label = i % classes;
    data.labels.push_back(static_cast<std::int32_t>(label));
    for (std::int64_t j = 0; j < features; ++j) {
      const float centre = numerics::uniform(centre_key, static_cast<std::uint64_t>(label * features + j), 0);
      const float u =
          numerics::uniform(sample_key, static_cast<std::uint64_t>(i * features + j), static_cast<std::uint64_t>(part));
      data.inputs.push_back(centre + noise * (2 * u - 1));
    }
  }
  Sha256 hash;
  hash.update(std::as_bytes(std::span(data.inputs)));
  hash.update(std::as_bytes(std::span(data.labels)));
  data.digests.push_back({"synthetic." + data.name, to_hex(hash.finish())});
  check(data);
  return data;
}

}  // namespace assay
