// Writing explanations.
#include "compare/explanation_text.hpp"

#include <nlohmann/json.hpp>

#include "compare/number_text.hpp"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

std::string side_text(const Explanation::Side& side) {
  if (!side.recorded) return "no digest of it was recorded";
  if (side.exact) return "has the bits of numerics exact";
  return side.cause.empty() ? "other bits than exact, and none of the hypotheses gives them" : side.cause;
}

std::string judged_text(const Judged& side) {
  if (!side.known) return "values unknown";
  return short_text(side.ulps) + " ULP from float64, " + short_text(side.of_bound) + " of its bound";
}

/// "12 equal, 3 by 1 ULP, 1 by 2 to 3".
std::string histogram_text(const Explanation& why) {
  std::string text = std::to_string(why.histogram[0]) + " equal";
  for (std::size_t i = 1; i < why.histogram.size(); ++i) {
    if (why.histogram[i] == 0) continue;
    const std::uint64_t low = std::uint64_t{1} << (i - 1), high = 2 * low - 1;
    text += ", " + std::to_string(why.histogram[i]) + " by ";
    if (i + 1 == why.histogram.size())
      text += "NaN";
    else
      text += std::to_string(low) + (low == high ? " ULP" : " to " + std::to_string(high));
  }
  return text;
}

}  // namespace

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::vector<std::vector<std::string>> explanation_rows(const Explanation& why) {
  if (!why.unavailable.empty()) return {{"replay", "none: " + why.unavailable}};
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"replayed", why.result + " " + shape_text(why.shape) + ", from " +
                                  (why.began_at ? "the checkpoint of step " + std::to_string(why.began_at)
                                                : std::string("the initial values"))});
  rows.push_back({"", "A " + side_text(why.a)});
  rows.push_back({"", "B " + side_text(why.b)});
  if (why.element) {
    rows.push_back({"first element",
                    index_text(why.shape, why.element->index) + ", " + ulp_text(why.element->ulp) + " ULP apart"});
    rows.push_back({"", "A " + number_text(why.element->a)});
    rows.push_back({"", "B " + number_text(why.element->b)});
    rows.push_back({"all elements", histogram_text(why)});
  } else if (why.a.values.empty() || why.b.values.empty()) {
    const bool a = why.a.values.empty();
    rows.push_back({"first element", std::string("unknown: this build does not compute the bits of ") +
                                         (a ? "A" : "B") + "; record them with --set 'trace.tensors=[\"" + why.result +
                                         "\"]'"});
  }
  if (why.referee) {
    rows.push_back({"referee", why.referee->verdict + " (bound: " + why.referee->bound + ")"});
    rows.push_back({"", "A " + judged_text(why.referee->a)});
    rows.push_back({"", "B " + judged_text(why.referee->b)});
  }
  rows.push_back({"wrong side", why.wrong + ": " + why.reason});
  return rows;
}

Json explanation_json(const Explanation& why) {
  if (!why.unavailable.empty()) return {{"unavailable", why.unavailable}};
  const auto side = [&](const Explanation::Side& side, const Judged* judged) {
    Json json = {{"recorded", side.recorded},
                 {"exact", side.exact},
                 {"values", text_or_null(side.values)},
                 {"cause", text_or_null(side.cause)}};
    if (judged && judged->known) {
      json["ulps_from_float64"] = judged->ulps;
      json["share_of_bound"] = judged->of_bound;
    }
    return json;
  };
  Json json = {{"result", why.result},
               {"shape", why.shape},
               {"began_at", why.began_at},
               {"a", side(why.a, why.referee ? &why.referee->a : nullptr)},
               {"b", side(why.b, why.referee ? &why.referee->b : nullptr)},
               {"elements", why.elements},
               {"different", why.different},
               {"element", nullptr},
               {"histogram", why.histogram},
               {"referee", nullptr},
               {"wrong", why.wrong},
               {"reason", why.reason}};
  if (why.element)
    json["element"] = {{"index", Json::parse(index_text(why.shape, why.element->index))},
                       {"a", why.element->a},
                       {"b", why.element->b},
                       {"ulp", why.element->ulp}};
  if (why.referee) json["referee"] = {{"verdict", why.referee->verdict}, {"bound", why.referee->bound}};
  return json;
}

}  // namespace assay
