// An explanation in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare/explanation.hpp"

namespace assay {

/// Rows of a label and a text: what was replayed, each side, the element, the referee and the wrong side.
std::vector<std::vector<std::string>> explanation_rows(const Explanation& why);

/// A text as JSON; null where there is none.
nlohmann::ordered_json text_or_null(const std::string& text);

/// The object that reference/commands.md documents.
nlohmann::ordered_json explanation_json(const Explanation& why);

}  // namespace assay
