// Distance between two words, for messages that suggest the nearest known one.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

/// Edits (insert, delete, replace, swap neighbours) that turn one word into the other.
///
///     edit_distance("fc1.wieght", "fc1.weight");  // 1
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace assay
