// A comparison in words and as JSON.
#pragma once

#include <string>

#include "compare/comparison.hpp"

namespace assay {

/// Some lines for a reader: whether it holds, what was compared, the first difference and how far the tensors are
/// apart.
std::string verdict_text(const Comparison& comparison);

/// One JSON object with the keys that reference/commands.md documents. Numbers that are not finite become null.
std::string comparison_json(const Comparison& comparison);

/// "CMP-4: …", all differences of a refused pair in one line; empty when it was compared.
std::string refusal_text(const Comparison& comparison);

}  // namespace assay
