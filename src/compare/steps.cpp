// Walking the rows of two runs side by side.
#include "compare/steps.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "base/sabotage.hpp"
#include "checkpoint/trace_name.hpp"
#include "compare/number_text.hpp"

namespace assay {
namespace {

using Pair = std::pair<std::string, std::string>;

/// Rows of a run, from `at` on.
struct Rows {
  const RunHead& run;
  const RunTable& table;
  std::size_t at;

  template <class T>
  std::span<const T> from_here(const std::vector<T>& column, std::size_t width = 1) const {
    return std::span(column).subspan(at * width);
  }
};

/// One table of both runs; `differs` gives what the two hold where the policy refuses it.
struct Table {
  std::string name;
  std::vector<std::string> columns;
  std::function<std::optional<Pair>(std::size_t row, std::size_t column)> differs;
  std::function<bool(std::size_t row)> same_row = [](std::size_t) { return false; };  ///< true: no column differs
};

const std::vector<std::string> one_value = {""};

std::optional<Pair> differing_digests(std::uint64_t a, std::uint64_t b) {
  if (a == b) return std::nullopt;
  return Pair{digest_text(a), digest_text(b)};
}

Table digests(const std::string& name, const std::vector<std::string>& columns, std::span<const std::uint64_t> a,
              std::span<const std::uint64_t> b) {
  const std::size_t width = columns.size();
  return {name, columns,
          [a, b, width](std::size_t row, std::size_t column) {
            return differing_digests(a[row * width + column], b[row * width + column]);
          },
          [a, b, width](std::size_t row) {
            return std::ranges::equal(a.subspan(row * width, width), b.subspan(row * width, width));
          }};
}

/// The results that both runs traced, in the order of A's steps.
Table trace(const Rows& a, const Rows& b) {
  const std::vector<std::string>&names_a = a.run.description.names.trace, &names_b = b.run.description.names.trace;
  const auto digests_a = a.from_here(a.table.trace, names_a.size());
  const auto digests_b = b.from_here(b.table.trace, names_b.size());
  if (names_a == names_b) return digests("trace", names_a, digests_a, digests_b);
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < names_b.size(); ++i) places[names_b[i]] = i;
  std::vector<std::string> columns;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < names_a.size(); ++i)
    if (const auto place = places.find(names_a[i]); place != places.end()) {
      columns.push_back(names_a[i]);
      pairs.emplace_back(i, place->second);
    }
  const std::size_t width_a = names_a.size(), width_b = names_b.size();
  return {"trace", columns, [=](std::size_t row, std::size_t column) {
            const auto [in_a, in_b] = pairs[column];
            return differing_digests(digests_a[row * width_a + in_a], digests_b[row * width_b + in_b]);
          }};
}

template <class T>
Table whole_numbers(const std::string& name, std::span<const T> a, std::span<const T> b) {
  return {name, one_value, [a, b](std::size_t row, std::size_t) -> std::optional<Pair> {
            if (a[row] == b[row]) return std::nullopt;
            return Pair{std::to_string(a[row]), std::to_string(b[row])};
          }};
}

Table numbers(const std::string& name, std::span<const double> a, std::span<const double> b, const Policy& policy,
              bool narrow) {
  return {name, one_value, [a, b, &policy, narrow](std::size_t row, std::size_t) -> std::optional<Pair> {
            if (policy.accepts(a[row], b[row], narrow)) return std::nullopt;
            return Pair{number_text(a[row]), number_text(b[row])};
          }};
}

std::vector<Table> tables_of(const Rows& a, const Rows& b, const Policy& policy) {
  const RunTable &x = a.table, &y = b.table;
  const RunNames& names = a.run.description.names;
  const bool narrow = !(is_float64(a.run) && is_float64(b.run));
  const bool bitwise = policy.kind == Policy::Kind::bitwise;
  const bool tensors = bitwise && has_tensor_digests(a.run) && has_tensor_digests(b.run);
  std::vector<Table> tables;
  const auto add_digests = [&](const std::string& name, const std::vector<std::string>& columns, const auto& in_a,
                               const auto& in_b) {
    tables.push_back(digests(name, columns, a.from_here(in_a, columns.size()), b.from_here(in_b, columns.size())));
  };
  const auto add_whole_numbers = [&](const std::string& name, const auto& in_a, const auto& in_b) {
    tables.push_back(whole_numbers(name, a.from_here(in_a), b.from_here(in_b)));
  };
  const auto add_numbers = [&](const std::string& name, const auto& in_a, const auto& in_b, bool of_float32) {
    tables.push_back(numbers(name, a.from_here(in_a), b.from_here(in_b), policy, of_float32));
  };
  add_whole_numbers("epoch", x.epoch, y.epoch);
  add_digests("ids", one_value, x.ids_digest, y.ids_digest);
  if (tensors) add_digests("masks", names.masks, x.masks, y.masks);
  if (tensors) tables.push_back(trace(a, b));
  add_numbers("loss", x.loss, y.loss, narrow);
  if (bitwise) add_digests("loss", one_value, x.loss_digest, y.loss_digest);
  if (tensors) add_digests("gradients", names.parameters, x.gradients, y.gradients);
  add_numbers("gradient_norm", x.gradient_norm, y.gradient_norm, narrow);
  add_whole_numbers("finite", x.finite, y.finite);
  add_numbers("learning_rate", x.learning_rate, y.learning_rate, false);
  if (tensors) add_digests("optimiser", names.optimiser, x.optimiser, y.optimiser);
  if (tensors) add_digests("parameters", names.parameters, x.parameters, y.parameters);
  return tables;
}

/// The operation that fills a table, as far as the configuration and the trace tell.
std::string operation_of(const std::string& table, const RunHead& run) {
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
Divergence located(Divergence found, const RunHead& run) {
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

/// The difference in one row; its step is 0.
std::optional<Divergence> difference_in_row(const Table& table, std::size_t row) {
  if (table.same_row(row)) return std::nullopt;
  std::optional<Divergence> found;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (sabotaged("first_tensor_is_passed_over") && column == 0 && table.columns.size() > 1) continue;
    const std::optional<Pair> pair = table.differs(row, column);
    if (!pair) continue;
    if (found)
      found->also.push_back(table.columns[column]);
    else
      found = Divergence{0, table.name, table.columns[column], pair->first, pair->second, {}};
  }
  return found;
}

/// The first difference in the next `count` rows of both.
std::optional<Divergence> first_difference(const Rows& a, const Rows& b, std::size_t count, const Policy& policy) {
  const std::vector<Table> tables = tables_of(a, b, policy);
  for (std::size_t row = 0; row < count; ++row)
    for (const Table& table : tables)
      if (auto found = difference_in_row(table, row)) {
        found->step = a.table.step[a.at + row];
        return located(std::move(*found), a.run);
      }
  return std::nullopt;
}

/// Going through the rows of a run.
class Walk {
 public:
  Walk(const std::string& folder, RunData& run) : reader_(folder, run), run_(run) {}

  /// Goes on to the next segment when all rows of this one were used; false: there is none.
  bool fetch() {
    if (left() > 0) return true;
    rows_ = reader_.next();
    at_ = 0;
    if (rows_) run_.table.append_plain_columns(*rows_);
    return rows_ != nullptr;
  }
  std::size_t left() const { return rows_ ? rows_->steps() - at_ : 0; }
  Rows here() const { return {run_, *rows_, at_}; }
  void use(std::size_t count) { at_ += count; }

 private:
  RunReader reader_;
  RunData& run_;
  const RunTable* rows_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace

StepDifferences compare_steps(const std::string& folder_a, RunData& a, const std::string& folder_b, RunData& b,
                              const Policy& policy) {
  const bool is_bitwise = policy.kind == Policy::Kind::bitwise;
  StepDifferences found;
  Walk in_a(folder_a, a), in_b(folder_b, b);
  for (bool more_a = true, more_b = true; more_a || more_b;) {
    more_a = in_a.fetch();
    more_b = in_b.fetch();
    // Behind the end of one run the rows of the other are only read.
    const std::size_t count = more_a && more_b ? std::min(in_a.left(), in_b.left()) : in_a.left() + in_b.left();
    if (more_a && more_b && !found.bits) found.bits = first_difference(in_a.here(), in_b.here(), count, Policy{});
    if (more_a && more_b && !found.refused)
      found.refused = is_bitwise ? found.bits : first_difference(in_a.here(), in_b.here(), count, policy);
    in_a.use(std::min(count, in_a.left()));
    in_b.use(std::min(count, in_b.left()));
  }
  return found;
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

std::optional<Divergence> result_difference(const RunHead& a, const RunHead& b, const Policy& policy) {
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

bool is_float64(const RunHead& run) { return provenance_of(run, "device") == "reference"; }

}  // namespace assay
