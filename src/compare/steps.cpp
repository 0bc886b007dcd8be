// Walking the rows of two runs side by side.
#include "compare/steps.hpp"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/sabotage.hpp"
#include "checkpoint/trace_name.hpp"
#include "compare/number_text.hpp"

namespace assay {
namespace {

using Pair = std::pair<std::string, std::string>;

/// One table of both runs; `differs` gives what the two hold where the policy refuses it.
struct Table {
  std::string name;
  std::vector<std::string> columns;
  std::function<std::optional<Pair>(std::size_t row, std::size_t column)> differs;
};

const std::vector<std::string> one_value = {""};

std::optional<Pair> differing_digests(std::uint64_t a, std::uint64_t b) {
  if (a == b) return std::nullopt;
  return Pair{digest_text(a), digest_text(b)};
}

Table digests(const std::string& name, const std::vector<std::string>& columns, const std::vector<std::uint64_t>& a,
              const std::vector<std::uint64_t>& b) {
  const std::size_t width = columns.size();
  return {name, columns, [&a, &b, width](std::size_t row, std::size_t column) {
            return differing_digests(a[row * width + column], b[row * width + column]);
          }};
}

/// The results that both runs traced, in the order of A's steps.
Table trace(const RunData& a, const RunData& b) {
  const std::vector<std::string>&names_a = a.description.names.trace, &names_b = b.description.names.trace;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < names_b.size(); ++i) places[names_b[i]] = i;
  std::vector<std::string> columns;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < names_a.size(); ++i)
    if (const auto place = places.find(names_a[i]); place != places.end()) {
      columns.push_back(names_a[i]);
      pairs.emplace_back(i, place->second);
    }
  return {"trace", columns, [&a, &b, pairs](std::size_t row, std::size_t column) {
            const auto [in_a, in_b] = pairs[column];
            return differing_digests(a.table.trace[row * a.description.names.trace.size() + in_a],
                                     b.table.trace[row * b.description.names.trace.size() + in_b]);
          }};
}

template <class T>
Table whole_numbers(const std::string& name, const std::vector<T>& a, const std::vector<T>& b) {
  return {name, one_value, [&a, &b](std::size_t row, std::size_t) -> std::optional<Pair> {
            if (a[row] == b[row]) return std::nullopt;
            return Pair{std::to_string(a[row]), std::to_string(b[row])};
          }};
}

Table numbers(const std::string& name, const std::vector<double>& a, const std::vector<double>& b, const Policy& policy,
              bool narrow) {
  return {name, one_value, [&a, &b, &policy, narrow](std::size_t row, std::size_t) -> std::optional<Pair> {
            if (policy.accepts(a[row], b[row], narrow)) return std::nullopt;
            return Pair{number_text(a[row]), number_text(b[row])};
          }};
}

std::vector<Table> tables_of(const RunData& a, const RunData& b, const Policy& policy, bool narrow) {
  const RunTable &x = a.table, &y = b.table;
  const RunNames& names = a.description.names;
  const bool bitwise = policy.kind == Policy::Kind::bitwise;
  const bool tensors = bitwise && has_tensor_digests(a) && has_tensor_digests(b);
  std::vector<Table> tables;
  tables.push_back(whole_numbers("epoch", x.epoch, y.epoch));
  tables.push_back(digests("ids", one_value, x.ids_digest, y.ids_digest));
  if (tensors) tables.push_back(digests("masks", names.masks, x.masks, y.masks));
  if (tensors) tables.push_back(trace(a, b));
  tables.push_back(numbers("loss", x.loss, y.loss, policy, narrow));
  if (bitwise) tables.push_back(digests("loss", one_value, x.loss_digest, y.loss_digest));
  if (tensors) tables.push_back(digests("gradients", names.parameters, x.gradients, y.gradients));
  tables.push_back(numbers("gradient_norm", x.gradient_norm, y.gradient_norm, policy, narrow));
  tables.push_back(whole_numbers("finite", x.finite, y.finite));
  tables.push_back(numbers("learning_rate", x.learning_rate, y.learning_rate, policy, false));
  if (tensors) {
    tables.push_back(digests("optimiser", names.optimiser, x.optimiser, y.optimiser));
    tables.push_back(digests("parameters", names.parameters, x.parameters, y.parameters));
  }
  return tables;
}

/// The operation that fills a table, as far as the configuration and the trace tell.
std::string operation_of(const std::string& table, const RunData& run) {
  if (table == "optimiser" || table == "parameters") {
    const auto keys = nlohmann::json::parse(run.description.configuration.resolved, nullptr, false);
    return keys.contains("optimiser.kind") && keys["optimiser.kind"].is_string()
               ? keys["optimiser.kind"].get<std::string>()
               : "";
  }
  if (table == "masks") return "dropout";
  return table == "gradients" && !run.description.names.trace.empty() ? "clip_norm" : "";
}

/// Says where in a step the difference arose.
Divergence located(Divergence found, const RunData& run) {
  static const std::map<std::string, std::string> phases = {{"epoch", "data"},
                                                            {"ids", "data"},
                                                            {"masks", "draws"},
                                                            {"loss", "forward"},
                                                            {"gradients", "gradients"},
                                                            {"finite", "gradients"},
                                                            {"gradient_norm", "gradients"},
                                                            {"learning_rate", "update"},
                                                            {"optimiser", "update"},
                                                            {"parameters", "update"}};
  if (found.table == "trace") {
    const TraceName name = TraceName::parse(found.tensor);
    found.phase = sabotaged("phases_are_confused") ? "forward" : name.phase;
    found.module = name.module;
    found.operation = name.operation;
  } else {
    found.phase = phases.at(found.table);
    found.operation = operation_of(found.table, run);
    found.module = found.tensor;
  }
  return found;
}

std::optional<Divergence> difference_in_row(const Table& table, std::size_t row) {
  std::optional<Divergence> found;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (sabotaged("first_tensor_is_passed_over") && column == 0 && table.columns.size() > 1) continue;
    const std::optional<Pair> pair = table.differs(row, column);
    if (!pair) continue;
    if (found)
      found->also.push_back(table.columns[column]);
    else
      found = Divergence{row + 1, table.name, table.columns[column], pair->first, pair->second, {}};
  }
  return found;
}

}  // namespace

std::optional<Divergence> first_step_difference(const RunData& a, const RunData& b, const Policy& policy,
                                                std::uint64_t common) {
  const std::vector<Table> tables = tables_of(a, b, policy, !(is_float64(a) && is_float64(b)));
  for (std::size_t row = 0; row < common; ++row)
    for (const Table& table : tables)
      if (auto found = difference_in_row(table, row)) return located(std::move(*found), a);
  return std::nullopt;
}

std::optional<Divergence> first_validation_difference(const RunData& a, const RunData& b, const Policy& policy,
                                                      std::uint64_t common, std::size_t& compared) {
  const bool narrow = !(is_float64(a) && is_float64(b));
  const bool bitwise = policy.kind == Policy::Kind::bitwise;
  // A run stopped right after its last step may lack the validation of it.
  const bool complete = a.result.has_value() && b.result.has_value();
  std::map<std::uint64_t, std::pair<std::optional<std::size_t>, std::optional<std::size_t>>> rows;
  for (std::size_t i = 0; i < a.table.validations(); ++i) rows[a.table.validation_step[i]].first = i;
  for (std::size_t i = 0; i < b.table.validations(); ++i) rows[b.table.validation_step[i]].second = i;

  compared = 0;
  for (const auto& [step, row] : rows) {
    if (step > common) break;
    if (!row.first || !row.second) {
      if (step < common || complete)
        return Divergence{
            step, "validation", "", row.first ? "a validation" : "none", row.second ? "a validation" : "none", {}};
      continue;
    }
    ++compared;
    const double loss_a = a.table.validation_loss[*row.first], loss_b = b.table.validation_loss[*row.second];
    const double accuracy_a = a.table.validation_accuracy[*row.first];
    const double accuracy_b = b.table.validation_accuracy[*row.second];
    if (!policy.accepts(loss_a, loss_b, narrow))
      return Divergence{step, "validation", "loss", number_text(loss_a), number_text(loss_b), {}};
    if (bitwise && !same_bits(accuracy_a, accuracy_b))
      return Divergence{step, "validation", "accuracy", number_text(accuracy_a), number_text(accuracy_b), {}};
  }
  return std::nullopt;
}

std::optional<Divergence> result_difference(const RunData& a, const RunData& b, const Policy& policy) {
  if (!a.result || !b.result || a.last_step != b.last_step) return std::nullopt;
  const RunResult &x = *a.result, &y = *b.result;
  const auto differs = [&](const std::string& what, std::string in_a, std::string in_b) {
    return Divergence{a.last_step, "result", what, std::move(in_a), std::move(in_b), {}};
  };
  const bool bitwise = policy.kind == Policy::Kind::bitwise;
  if (sabotaged("times_are_compared") && x.seconds != y.seconds) return differs("seconds", "", "");
  if (bitwise && x.parameters_digest != y.parameters_digest)
    return differs("parameters_digest", x.parameters_digest, y.parameters_digest);
  if (!policy.accepts(x.test_loss, y.test_loss, !(is_float64(a) && is_float64(b))))
    return differs("test_loss", number_text(x.test_loss), number_text(y.test_loss));
  if (bitwise && !same_bits(x.test_accuracy, y.test_accuracy))
    return differs("test_accuracy", number_text(x.test_accuracy), number_text(y.test_accuracy));
  return std::nullopt;
}

bool is_float64(const RunData& run) { return provenance_of(run, "device") == "reference"; }

}  // namespace assay
