// Writing numbers.
#include "compare/number_text.hpp"

#include <charconv>
#include <cstdio>

namespace assay {

std::string digest_text(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string ulp_text(std::uint64_t ulps) { return ulps == ~std::uint64_t{0} ? "NaN" : std::to_string(ulps); }

}  // namespace assay
