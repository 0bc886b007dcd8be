// A small classification problem made of nothing but random numbers.
#pragma once

#include <cstdint>

#include "data/dataset.hpp"

namespace assay {

/// The keys under `data.synthetic.`, with their defaults.
struct SyntheticOptions {
  std::int64_t samples = 1024;
  std::int64_t features = 16;
  std::int64_t classes = 4;
  double noise = 0.5;
};

enum class SyntheticPart : std::uint64_t { train = 0, test = 1 };

/// Boxes around one random corner for each class.
///
/// Sample i has class i mod classes; its feature j is centre[class, j] + noise · (2u − 1) in binary32 with centre and u
/// uniform (N6, seed 0, streams "data.synthetic.centres" with draw 0 and "data.synthetic.samples" with the part as
/// draw), element class·features + j and i·features + j. So a longer set begins with the shorter one, and the
/// data does not depend on the experiment's seed.
/// Errors: RUN-3 for a size below 1, more than 2²⁸ values, or a noise that is negative or not finite.
///
///     Dataset data = make_synthetic({.samples = 256, .features = 8, .classes = 3, .noise = 0.2},
///     SyntheticPart::train);
Dataset make_synthetic(const SyntheticOptions& options, SyntheticPart part);

}  // namespace assay
