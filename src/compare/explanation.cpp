// From the first difference that files show to its element, its cause and the side that is wrong.
#include "compare/explanation.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/error.hpp"
#include "base/ulp.hpp"
#include "checkpoint/tensor_file.hpp"
#include "checkpoint/trace_name.hpp"
#include "compare/comparable.hpp"

namespace assay {
namespace {

/// One run, and what is known of the result in question.
struct Party {
  const std::string& folder;
  const RunHead& run;
  const NameMap& names;
  Explanation::Side& side;
  std::uint64_t step;
  RunReader reader{folder, run, step, step};
  const RunTable& rows = *reader.next();  // the segment that holds the step
  std::optional<ReplayedStep> own = {};   // computed on its device, in its numerics, with the bits that it recorded
  std::optional<std::uint64_t> recorded = {};
  std::optional<Array> values = {};
};

std::optional<std::size_t> place_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

/// The digest that a run recorded of a result.
std::optional<std::uint64_t> recorded_digest(const Party& party, const std::string& name) {
  const RunNames& names = party.run.description.names;
  const RunTable& rows = party.rows;
  const auto entry = [&](const std::vector<std::string>& columns, const std::vector<std::uint64_t>& table,
                         const std::string& column) -> std::optional<std::uint64_t> {
    const auto place = place_of(columns, column);
    if (!place || table.empty()) return std::nullopt;
    return table[rows.row_of(party.step) * columns.size() + *place];
  };
  const TraceName parsed = TraceName::parse(name);
  if (parsed.operation != "table") return entry(names.trace, rows.trace, name);
  if (parsed.phase == "gradients") return entry(names.parameters, rows.gradients, parsed.module);
  if (parsed.phase == "optimiser") return entry(names.optimiser, rows.optimiser, parsed.module);
  return entry(names.parameters, rows.parameters, parsed.module);
}

/// The result of a replay that a difference in a table of the run is about; "" when it is about none.
std::string result_name(const Divergence& first) {
  if (first.table == "trace") return first.tensor;
  if (first.table == "masks") return TraceName{"forward", first.tensor, "dropout"}.text();
  for (const char* table : {"gradients", "optimiser", "parameters"})
    if (first.table == table) return TraceName{table, first.tensor, "table"}.text();
  return "";
}

/// Whether a step has the digests that a run recorded of it; one that recorded none has no bits to hold it against.
bool is_as_recorded(const RunTable& rows, const StepRow& row) {
  const std::size_t at = rows.row_of(row.step);
  const auto same = [&](const std::vector<std::uint64_t>& table, const std::vector<std::uint64_t>& digests) {
    return table.size() == rows.steps() * digests.size() &&
           std::equal(digests.begin(), digests.end(), table.begin() + static_cast<std::ptrdiff_t>(at * digests.size()));
  };
  return rows.loss_digest[at] == row.loss_digest && same(rows.gradients, row.gradients) &&
         same(rows.optimiser, row.optimiser) && same(rows.parameters, row.parameters);
}

std::optional<ReplayedStep> own_step(const Party& party, const Replay& replay) {
  const RunHead& run = party.run;
  try {
    ReplayedStep own =
        replay.compute(replay.elsewhere(provenance_of(run, "device", "cpu"), provenance_of(run, "numerics", "exact")),
                       replay.before());
    if (is_as_recorded(party.rows, own.row)) return own;
  } catch (const Error&) {
    // Its device or numerics are not here: what it kept, or a cause, may still tell.
  }
  return std::nullopt;
}

/// The first result of a step in which two replays differ.
std::string first_apart(const ReplayedStep& a, const ReplayedStep& b) {
  for (const ReplayedResult& result : a.results)
    if (const auto place = b.find(result.name); place && b.results[*place].digest != result.digest) return result.name;
  return "";
}

/// Fills in what is known of the result on one side: from here, or from what its run kept.
void find_values(Party& party, const ReplayedStep& exact, const std::string& name) {
  party.recorded = recorded_digest(party, name);
  const auto own = party.own ? party.own->find(name) : std::nullopt;
  if (own && !party.recorded) party.recorded = party.own->results[*own].digest;
  party.side.recorded = party.recorded.has_value();
  const ReplayedResult& here = exact.results[*exact.find(name)];
  party.side.exact = party.recorded == here.digest;
  if (party.side.exact || (own && party.recorded == party.own->results[*own].digest)) {
    party.values = party.side.exact ? here.value : party.own->results[*own].value;
    party.side.values = "this build";
    return;
  }
  const std::string path = tensor_path(party.folder, party.step);
  if (!std::filesystem::exists(path)) return;
  std::vector<NamedArray> tensors = load_tensors(path);
  rename(tensors, party.names);
  for (NamedArray& tensor : tensors) {
    if (tensor.name != name) continue;
    party.values = std::move(tensor.array);
    party.side.values = "its tensors file";
  }
}

void find_cause_of(Party& party, const Replay& replay, const ReplayedStep& exact, const std::string& name) {
  if (party.side.exact || !party.recorded) return;
  const auto cause = find_cause(replay, exact, name, *party.recorded);
  if (!cause) return;
  party.side.cause = cause->text;
  if (party.values) return;
  party.values = cause->value;
  party.side.values = "the cause";
}

template <class T>
void count_distances(Explanation& why, const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint64_t ulps = ulp_distance(a[i], b[i]);
    const std::size_t bucket =
        ulps == ~std::uint64_t{0} ? why.histogram.size() - 1 : std::min<std::size_t>(std::bit_width(ulps), 32);
    ++why.histogram[bucket];
    if (ulps == 0) continue;
    ++why.different;
    if (!why.element)
      why.element = ValueDifference::Element{i, static_cast<double>(a[i]), static_cast<double>(b[i]), ulps};
  }
}

void compare_values_of(Explanation& why, const Array& a, const Array& b) {
  if (a.shape != b.shape || a.type != b.type) return;
  why.elements = shape_count(a.shape);
  if (a.type == ElementType::float32)
    count_distances(why, a.values<float>(), b.values<float>());
  else if (a.type == ElementType::float64)
    count_distances(why, a.values<double>(), b.values<double>());
}

/// Who is wrong: a side that promised the bits of exact and has others; else the referee decides.
void decide(Explanation& why, const RunHead& a, const RunHead& b) {
  const auto broke = [](const RunHead& run, const Explanation::Side& side) {
    return provenance_of(run, "numerics") == "exact" && side.recorded && !side.exact;
  };
  const bool a_broke = broke(a, why.a), b_broke = broke(b, why.b);
  if (a_broke || b_broke) {
    why.wrong = a_broke && b_broke ? "both" : a_broke ? "A" : "B";
    why.reason = why.wrong == "both" ? "both promise numerics exact, and neither has its bits"
                                     : "it promises numerics exact, and has other bits than exact gives here";
    return;
  }
  why.wrong = "unknown";
  why.reason = "one side promises no bits; --referee asks float64";
  if (!why.referee || why.referee->verdict == "unknown") return;
  why.wrong = why.referee->verdict == "both within bound" ? "neither"
              : why.referee->verdict == "both outside"    ? "both"
                                                          : why.referee->verdict;
  why.reason = why.wrong == "neither" ? "both are as near to float64 as rounding lets them be"
                                      : "further from float64 than rounding explains";
}

}  // namespace

Explanation explain(const std::string& folder_a, const RunHead& a, const std::string& folder_b, const RunHead& b,
                    const NameMap& names_of_b, const Divergence& first, bool referee) {
  Explanation why;
  if (first.phase == "data") {
    why.unavailable = "the difference is in " + first.table + ", which no operation computes";
    return why;
  }
  std::optional<Replay> replay;
  for (const auto& [folder, run] : {std::pair(&folder_a, &a), {&folder_b, &b}}) {
    try {
      replay.emplace(*folder, *run, first.step);
      break;
    } catch (const Error& error) {
      if (why.unavailable.empty()) why.unavailable = error.what();
    }
  }
  if (!replay) return why;
  why.unavailable.clear();
  why.began_at = replay->began_at();

  const NameMap no_names;
  Party parties[] = {{folder_a, a, no_names, why.a, first.step}, {folder_b, b, names_of_b, why.b, first.step}};
  for (Party& party : parties) party.own = own_step(party, *replay);
  why.result = result_name(first);
  // The tables of a run name tensors; where both sides are computed here, these name the operation.
  if (first.table != "trace" && parties[0].own && parties[1].own)
    why.result = first_apart(*parties[0].own, *parties[1].own);
  if (why.result.empty()) {
    why.unavailable = "the difference is in " + first.table + ", and no trace (--trace op) tells an operation";
    return why;
  }

  const ReplayedStep exact = replay->compute(replay->exact(), replay->before());
  const auto place = exact.find(why.result);
  if (!place) {
    why.unavailable = "a step computed here has no result " + why.result;
    return why;
  }
  why.shape = exact.results[*place].value.shape;
  for (Party& party : parties) {
    find_values(party, exact, why.result);
    find_cause_of(party, *replay, exact, why.result);
  }
  const std::optional<Array>&values_a = parties[0].values, &values_b = parties[1].values;
  if (values_a && values_b) compare_values_of(why, *values_a, *values_b);
  if (referee)
    why.referee = judge(*replay, exact, why.result, values_a ? &*values_a : nullptr, values_b ? &*values_b : nullptr);
  decide(why, a, b);
  return why;
}

}  // namespace assay
