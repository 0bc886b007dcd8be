// Growth in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare/growth.hpp"

namespace assay {

/// Rows of a label and a text: the course of the distance, each null run, the verdict and the figures that it rests on.
/// None when the parameters are the same at every common checkpoint and there are no null runs.
std::vector<std::vector<std::string>> growth_rows(const Growth& growth);

/// The object that reference/commands.md documents.
nlohmann::ordered_json growth_json(const Growth& growth);

}  // namespace assay
