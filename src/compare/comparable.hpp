// Which runs can be compared at all: the same experiment, step by step.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/run_file.hpp"

namespace assay {

/// One thing in which two runs differ though a step means the same only when they agree in it.
struct Difference {
  std::string what;  ///< a key of the configuration, or what else it is
  std::string a, b;
};

/// What makes two runs different experiments (CMP-4); empty: they can be compared.
///
/// It is every key of the resolved configuration but those that say how and where the same steps are computed (`run.*`,
/// `checkpoint.*`, `trace.*`) and those that are names only (`experiment.name`, `data.path`, `data.digests`); the
/// digest of the data; the names of parameters, optimiser tensors and masks; the version of the numerics.
/// `train.epochs` and `train.steps` count unless the schedule is constant: all other schedules stretch over the length
/// of the run. Errors: FILE-3 when a resolved configuration is no JSON object.
std::vector<Difference> differences_of_experiment(const RunHead& a, const RunHead& b);

/// What the run says of what made it, `otherwise` where it does not.
std::string provenance_of(const RunHead& run, const std::string& name, const std::string& otherwise = "");

/// Whether the run recorded digests of its tensors (`trace.level`).
bool has_tensor_digests(const RunHead& run);

}  // namespace assay
