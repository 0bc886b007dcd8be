// Bytes to tokens and back.
#include "data/byte_tokeniser.hpp"

#include "base/error.hpp"

namespace assay {

std::vector<std::int32_t> encode_bytes(std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  return tokens;
}

std::string decode_bytes(std::span<const std::int32_t> tokens) {
  std::string text;
  text.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= byte_vocabulary)
      throw Error("RUN-3", "byte tokeniser", "token " + std::to_string(i) + " in [0, 256)", std::to_string(tokens[i]));
    text += static_cast<char>(tokens[i]);
  }
  return text;
}

}  // namespace assay
