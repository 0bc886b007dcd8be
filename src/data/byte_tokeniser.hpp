// The byte tokeniser: 256 tokens, each the value of one byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

inline constexpr std::int64_t byte_vocabulary = 256;

/// The values of the bytes, in [0, 256).
///
///     encode_bytes("Ab");  // {65, 98}
std::vector<std::int32_t> encode_bytes(std::string_view text);

/// The text of which these are the tokens; it need not be UTF-8. Errors: RUN-3 for a token outside [0, 256).
///
///     decode_bytes(encode_bytes(text)) == text
std::string decode_bytes(std::span<const std::int32_t> tokens);

}  // namespace assay
