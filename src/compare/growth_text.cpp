// Writing growth.
#include "compare/growth_text.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "compare/number_text.hpp"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

std::string course(const GrowthCurve& curve) {
  if (curve.steps.empty()) return "no common checkpoint";
  const auto at = [&](std::size_t i) {
    return short_text(curve.all.relative[i]) + " at step " + std::to_string(curve.steps[i]);
  };
  std::string text = at(0);
  if (curve.steps.size() == 1) return text;
  text += ", " + at(curve.steps.size() - 1);
  const auto doubling = doubling_time(curve.steps, curve.all.relative);
  if (!doubling) return text + "; it does not double";
  return text + "; it doubles in " + short_text(doubling->steps) + " steps (from " + std::to_string(doubling->from) +
         " to " + std::to_string(doubling->to) + ", r^2 " + short_text(doubling->r_squared) + ")";
}

std::string limit_text(const std::string& what, const Growth::Limit& limit) {
  return "distance " + short_text(limit.distance) + ", " + what + " " + short_text(limit.limit) + " at step " +
         std::to_string(limit.step) + ", the nearest to it of " + std::to_string(limit.steps);
}

Json distances_json(const std::vector<std::uint64_t>& steps, const Distances& distances) {
  Json json = {{"name", distances.name},
               {"relative", distances.relative},
               {"median_ulp", distances.median_ulp},
               {"max_ulp", distances.max_ulp},
               {"doubling_time", nullptr}};
  if (const auto doubling = doubling_time(steps, distances.relative))
    json["doubling_time"] = {
        {"steps", doubling->steps}, {"from", doubling->from}, {"to", doubling->to}, {"r_squared", doubling->r_squared}};
  return json;
}

void put_curve(Json& json, const GrowthCurve& curve, const LossDistance& loss) {
  json["steps"] = curve.steps;
  json["all"] = distances_json(curve.steps, curve.all);
  json["parameters"] = Json::array();
  for (const Distances& distances : curve.parameters)
    json["parameters"].push_back(distances_json(curve.steps, distances));
  json["loss"] = {{"largest", loss.largest}, {"step", loss.step}, {"last", loss.last}};
}

Json limit_json(const std::optional<Growth::Limit>& limit) {
  if (!limit) return nullptr;
  return {{"steps", limit->steps}, {"step", limit->step}, {"distance", limit->distance}, {"limit", limit->limit}};
}

}  // namespace

std::vector<std::vector<std::string>> growth_rows(const Growth& growth) {
  const std::vector<double>& relative = growth.curve.all.relative;
  const bool apart = std::any_of(relative.begin(), relative.end(), [](double distance) { return distance > 0; });
  if (!apart && growth.nulls.empty()) return {};
  std::vector<std::vector<std::string>> rows = {{"growth", "distance of all parameters " + course(growth.curve)}};
  for (const NullRun& run : growth.nulls)
    rows.push_back({run.other_seed ? "other seed" : "one ULP", run.folder + ": " + course(run.curve)});
  std::string verdict = growth.verdict.empty() ? "NO VERDICT" : growth.verdict;
  std::transform(verdict.begin(), verdict.end(), verdict.begin(), [](unsigned char c) { return std::toupper(c); });
  rows.push_back({"growth is", verdict + "  " + growth.reason});
  if (growth.rounding) rows.push_back({"", limit_text("rounding up to", *growth.rounding)});
  if (growth.seeds) rows.push_back({"", limit_text("other seeds from", *growth.seeds)});
  for (const Growth::Band& band : growth.bands)
    rows.push_back({"", band.metric + " " + short_text(band.b) + (band.outside() ? ", outside of [" : ", in [") +
                            short_text(band.low) + ", " + short_text(band.high) + "] by A and " +
                            std::to_string(band.runs - 1) + " other seeds"});
  return rows;
}

std::vector<std::vector<std::string>> referee_run_rows(const RefereeRun& run) {
  std::vector<std::vector<std::string>> rows = {{"referee run", run.folder}};
  rows.push_back({"", "A is off by " + course(run.a)});
  rows.push_back({"", "B is off by " + course(run.b)});
  rows.push_back({"further off", run.further().empty() ? "unknown" : run.further()});
  for (const char* side : {"A", "B"}) {
    std::string names;
    for (const std::string& name : run.further_in(side)) names += (names.empty() ? "" : ", ") + name;
    if (!names.empty()) rows.push_back({"", side + (" in " + names)});
  }
  return rows;
}

Json referee_run_json(const RefereeRun& run) {
  Json a, b;
  put_curve(a, run.a, run.loss_a);
  put_curve(b, run.b, run.loss_b);
  Json json = {{"run", run.folder}, {"further", nullptr}};
  if (!run.further().empty()) json["further"] = run.further();
  json["further_in"] = {{"a", run.further_in("A")}, {"b", run.further_in("B")}};
  json["a"] = std::move(a);
  json["b"] = std::move(b);
  return json;
}

Json growth_json(const Growth& growth) {
  Json json;
  put_curve(json, growth.curve, growth.loss);
  json["verdict"] = nullptr;
  if (!growth.verdict.empty()) json["verdict"] = growth.verdict;
  json["reason"] = growth.reason;
  json["rounding_factor"] = rounding_factor;
  json["rounding"] = limit_json(growth.rounding);
  json["seeds"] = limit_json(growth.seeds);
  json["bands"] = Json::array();
  for (const Growth::Band& band : growth.bands)
    json["bands"].push_back({{"metric", band.metric},
                             {"b", band.b},
                             {"low", band.low},
                             {"high", band.high},
                             {"runs", band.runs},
                             {"outside", band.outside()}});
  json["nulls"] = Json::array();
  for (const NullRun& run : growth.nulls) {
    Json null = {{"run", run.folder}, {"kind", run.other_seed ? "other seed" : "one ULP"}};
    put_curve(null, run.curve, run.loss);
    null["metrics"] = Json::object();
    for (const Metric& metric : run.metrics) null["metrics"][metric.name] = metric.b;
    json["nulls"].push_back(std::move(null));
  }
  return json;
}

}  // namespace assay
