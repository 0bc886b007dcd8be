// Parsing policies and judging two numbers.
#include "compare/policy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "base/ulp.hpp"

namespace assay {
namespace {

/// The number that all of `text` spells.
template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_tolerance(std::string_view text, double& value) {
  return parse_number(text, value) && std::isfinite(value) && !std::signbit(value);
}

}  // namespace

bool Policy::accepts(double a, double b, bool narrow) const {
  switch (kind) {
    case Kind::bitwise:
      return same_bits(a, b);
    case Kind::ulp:
      return ulps_between(a, b, narrow) <= ulps;
    case Kind::close:
      if (a == b || (std::isnan(a) && std::isnan(b))) return true;
      if (sabotaged("tolerances_accept_all")) return true;
      return std::isfinite(a) && std::isfinite(b) &&
             std::fabs(a - b) <= atol + rtol * std::max(std::fabs(a), std::fabs(b));
  }
  return false;
}

Policy parse_policy(const std::string& text) {
  Policy policy;
  policy.text = text;
  const std::string_view view = text;
  const std::size_t comma = view.find(',');
  if (text == "bitwise") return policy;
  if (view.starts_with("ulp:")) {
    policy.kind = Policy::Kind::ulp;
    if (parse_number(view.substr(4), policy.ulps)) return policy;
  }
  if (view.starts_with("close:") && comma != view.npos) {
    policy.kind = Policy::Kind::close;
    if (parse_tolerance(view.substr(6, comma - 6), policy.rtol) && parse_tolerance(view.substr(comma + 1), policy.atol))
      return policy;
  }
  throw Error("CMP-5", "comparison policy", "bitwise, ulp:N (N a whole number) or close:RTOL,ATOL (numbers >= 0)",
              "\"" + text + "\"");
}

std::uint64_t ulps_between(double a, double b, bool narrow) {
  return narrow ? ulp_distance(static_cast<float>(a), static_cast<float>(b)) : ulp_distance(a, b);
}

bool same_bits(double a, double b) {
  if (sabotaged("nan_is_not_nan") && std::isnan(a)) return false;
  if (sabotaged("zeros_have_no_sign") && a == b) return true;
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

}  // namespace assay
