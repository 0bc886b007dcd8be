// Writing verdicts.
#include "compare/verdict.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compare/explanation_text.hpp"
#include "compare/growth_text.hpp"
#include "compare/number_text.hpp"
#include "compare/steps.hpp"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_tensors = 12;

std::string count(std::uint64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// Rows in aligned columns, two spaces in front; the first column to the left, the others to the right when `numbers`.
std::string table(const std::vector<std::vector<std::string>>& rows, bool numbers = false) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (numbers && i ? space + row[i] : row[i] + space);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string milliseconds(const Comparison::Side& side) { return short_text(1000 * side.seconds_per_step) + " ms"; }

bool is_fast(const Comparison::Side& side) { return side.numerics == "fast"; }

std::vector<std::string> side_row(const std::string& letter, const Comparison::Side& side) {
  std::string where = side.device;
  if (!side.threads.empty()) where += ", " + side.threads + (side.threads == "1" ? " thread" : " threads");
  if (is_fast(side)) where += ", numerics fast";
  return {letter, side.folder, side.status, count(side.last_step, "step"), where};
}

std::string headline(const Comparison& comparison) {
  const Comparison::Side &a = comparison.a, &b = comparison.b;
  const std::string policy = comparison.policy.text;
  const std::string steps = count(comparison.steps_compared, "step");
  const bool bitwise = comparison.policy.kind == Policy::Kind::bitwise;
  if (!comparison.refused.empty()) return "REFUSED  CMP-4: not the same experiment";
  if (comparison.holds) return "HOLDS  " + policy + ": " + steps + (bitwise ? " with the same bits" : " agree");
  if (comparison.first_divergence)
    return "DIFFERS  " + policy + ": at step " + std::to_string(comparison.first_divergence->step) + " of " +
           std::to_string(comparison.steps_compared);
  if (comparison.steps_compared == 0) return "DOES NOT HOLD  " + policy + ": there is no step to compare";
  const bool a_is_shorter = a.last_step < b.last_step;
  return "DOES NOT HOLD  " + policy + ": the " + steps + " of both agree, but " + (a_is_shorter ? "A" : "B") +
         " ends there (" + (a_is_shorter ? a : b).status + ")";
}

std::vector<std::string> first_difference_row(const Divergence& first) {
  std::string place = first.table + (first.tensor.empty() ? "" : " of " + first.tensor);
  if (first.table == "trace")
    place = first.phase + ", operation " + first.operation +
            (first.module.empty() ? ", in no module" : " of module " + first.module) + " (" + first.tensor + ")";
  else if (!first.operation.empty())
    place += " (" + first.phase + " by " + first.operation + ")";
  if (!first.also.empty()) place += ", and of " + std::to_string(first.also.size()) + " more";
  return {"first difference", "step " + std::to_string(first.step) + ": " + place};
}

std::vector<std::vector<std::string>> fact_rows(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  if (const auto& first = comparison.first_divergence) {
    rows.push_back(first_difference_row(*first));
    rows.push_back({"", "A " + first->a});
    rows.push_back({"", "B " + first->b});
    if (const auto& element = comparison.element) {
      rows.push_back({"in checkpoint " + std::to_string(element->checkpoint),
                      element->tensor + " " + element->index + ", " + ulp_text(element->ulp) + " ULP apart"});
      rows.push_back({"", "A " + number_text(element->a)});
      rows.push_back({"", "B " + number_text(element->b)});
    }
  }
  std::string compared = count(comparison.steps_compared, "step");
  if (comparison.tensors_per_step > 0) compared += " x " + count(comparison.tensors_per_step, "tensor digest");
  compared += ", " + count(comparison.validations_compared, "validation") + ", " +
              count(comparison.checkpoints.size(), "checkpoint");
  if (!comparison.checkpoints.empty())
    compared += " (last: step " + std::to_string(comparison.checkpoints.back()) + ")";
  rows.push_back({"compared", compared});
  for (const Metric& metric : comparison.metrics) {
    const std::string name = metric.name == "test_loss" ? "test loss" : "test accuracy";
    const bool same = same_bits(metric.a, metric.b);
    rows.push_back({name, "A " + number_text(metric.a) + (same ? ", B the same" : ", B " + number_text(metric.b))});
  }
  rows.push_back({"step time", "A " + milliseconds(comparison.a) + ", B " + milliseconds(comparison.b) + " (medians)"});
  for (auto& row : growth_rows(comparison.growth)) rows.push_back(std::move(row));
  if (comparison.referee_run)
    for (auto& row : referee_run_rows(*comparison.referee_run)) rows.push_back(std::move(row));
  if (comparison.other_element_type && comparison.policy.kind == Policy::Kind::bitwise)
    rows.push_back({"note", "one run computed in float32, the other in float64: compare them with close:RTOL,ATOL"});
  if (is_fast(comparison.a) != is_fast(comparison.b))
    rows.push_back({"note", std::string(is_fast(comparison.a) ? "A" : "B") +
                                " computed under numerics fast, the other under exact: their bits may differ"});
  return rows;
}

/// How far apart, per metric and tensor: those that differ; of the tensors the furthest first.
std::string distances(const Comparison& comparison) {
  std::vector<const NamedDifference*> differing;
  for (const auto* list : {&comparison.per_step, &comparison.tensors})
    for (const NamedDifference& difference : *list)
      if (!difference.values.equal) differing.push_back(&difference);
  if (differing.empty()) return "";
  const bool bitwise = comparison.policy.kind == Policy::Kind::bitwise;
  const auto first_tensor = std::find_if(differing.begin(), differing.end(),
                                         [](const auto* difference) { return difference->table != "steps"; });
  std::stable_sort(first_tensor, differing.end(), [](const auto* a, const auto* b) {
    return a->values.within() != b->values.within() ? !a->values.within() : a->values.max_ulp > b->values.max_ulp;
  });
  const std::vector<std::uint64_t>& checkpoints = comparison.checkpoints;
  const std::string title = checkpoints.empty()
                                ? "how far apart"
                                : "how far apart (tensors: step " + std::to_string(checkpoints.back()) + ")";
  std::vector<std::vector<std::string>> rows = {{title, "differing", "max ULP", "max abs", "max rel", "RMS", ""}};
  for (std::size_t i = 0; i < differing.size() && i < most_tensors; ++i) {
    const ValueDifference& values = differing[i]->values;
    const bool of_steps = differing[i]->table == "steps";
    rows.push_back({differing[i]->name + (of_steps ? " (all steps)" : ""),
                    std::to_string(values.different) + "/" + std::to_string(values.elements), ulp_text(values.max_ulp),
                    short_text(values.max_abs), short_text(values.max_rel), short_text(values.rms),
                    bitwise           ? ""
                    : values.within() ? "within"
                                      : "beyond"});
  }
  std::string text = "\n" + table(rows, true);
  if (differing.size() > most_tensors) text += "  and " + std::to_string(differing.size() - most_tensors) + " more\n";
  return text;
}

Json distances_json(const std::vector<NamedDifference>& list) {
  Json rows = Json::array();
  for (const NamedDifference& difference : list) {
    const ValueDifference& values = difference.values;
    rows.push_back({{"name", difference.name},
                    {"equal", values.equal},
                    {"within", values.within()},
                    {"elements", values.elements},
                    {"different", values.different},
                    {"max_ulp", values.max_ulp},
                    {"max_abs", values.max_abs},
                    {"max_rel", values.max_rel},
                    {"rms", values.rms}});
  }
  return rows;
}

}  // namespace

std::string refusal_text(const Comparison& comparison) {
  if (comparison.refused.empty()) return "";
  std::string text = "CMP-4: not the same experiment";
  const char* separator = ": ";
  for (const Difference& difference : comparison.refused) {
    text += separator + difference.what + " is " + difference.a + " in A, " + difference.b + " in B";
    separator = "; ";
  }
  return text;
}

std::string verdict_text(const Comparison& comparison) {
  std::string text =
      headline(comparison) + "\n\n" + table({side_row("A", comparison.a), side_row("B", comparison.b)}) + "\n";
  if (!comparison.refused.empty()) {
    std::vector<std::vector<std::string>> rows = {{"what differs", "A", "B"}};
    for (const Difference& difference : comparison.refused)
      rows.push_back({difference.what, difference.a, difference.b});
    return text + table(rows);
  }
  text += table(fact_rows(comparison));
  if (comparison.explanation) text += "\n" + table(explanation_rows(*comparison.explanation));
  return text + distances(comparison);
}

std::string comparison_json(const Comparison& comparison) {
  const Comparison::Side &a = comparison.a, &b = comparison.b;
  Json json = {{"a", a.folder},
               {"b", b.folder},
               {"policy", comparison.policy.text},
               {"holds", comparison.holds},
               {"refused", nullptr},
               {"steps", {{"a", a.last_step}, {"b", b.last_step}}},
               {"status", {{"a", a.status}, {"b", b.status}}},
               {"steps_compared", comparison.steps_compared},
               {"validations_compared", comparison.validations_compared},
               {"checkpoints_compared", comparison.checkpoints},
               {"first_divergence", nullptr},
               {"element", nullptr},
               {"explanation", nullptr},
               {"metrics", Json::object()},
               {"seconds_per_step", {{"a", a.seconds_per_step}, {"b", b.seconds_per_step}}},
               {"growth", growth_json(comparison.growth)},
               {"referee_run", nullptr},
               {"per_step", distances_json(comparison.per_step)},
               {"tensors", distances_json(comparison.tensors)}};
  if (!comparison.refused.empty()) json["refused"] = refusal_text(comparison);
  if (const auto& first = comparison.first_divergence) {
    json["first_divergence"] = {{"step", first->step}, {"table", first->table}, {"tensor", nullptr},
                                {"a", first->a},       {"b", first->b},         {"also", first->also}};
    if (!first->tensor.empty()) json["first_divergence"]["tensor"] = first->tensor;
    for (const auto& [key, text] :
         {std::pair("phase", first->phase), {"module", first->module}, {"operation", first->operation}})
      json["first_divergence"][key] = text_or_null(text);
  }
  if (const auto& element = comparison.element)
    json["element"] = {{"checkpoint", element->checkpoint},
                       {"tensor", element->tensor},
                       {"index", Json::parse(element->index)},
                       {"a", element->a},
                       {"b", element->b},
                       {"ulp", element->ulp}};
  if (comparison.referee_run) json["referee_run"] = referee_run_json(*comparison.referee_run);
  if (comparison.explanation) json["explanation"] = explanation_json(*comparison.explanation);
  for (const Metric& metric : comparison.metrics) json["metrics"][metric.name] = {{"a", metric.a}, {"b", metric.b}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace assay
