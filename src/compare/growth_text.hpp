// Growth in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare/growth.hpp"
#include "compare/referee_run.hpp"

namespace assay {

/// Rows of a label and a text: the course of the distance, each null run, the verdict and the figures that it rests on.
/// None when the parameters are the same at every common checkpoint and there are no null runs.
std::vector<std::vector<std::string>> growth_rows(const Growth& growth);

/// The same for a referee run: how far each side is from it, and who is further, of all parameters and of each.
std::vector<std::vector<std::string>> referee_run_rows(const RefereeRun& run);

/// The objects that reference/commands.md documents.
nlohmann::ordered_json growth_json(const Growth& growth);
nlohmann::ordered_json referee_run_json(const RefereeRun& run);

}  // namespace assay
