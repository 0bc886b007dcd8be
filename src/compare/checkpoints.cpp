// Comparing checkpoints: tensors by policy, the rest of the state exactly.
#include "compare/checkpoints.hpp"

#include <map>
#include <set>

#include "base/error.hpp"
#include "compare/number_text.hpp"

namespace assay {
namespace {

using Entries = std::map<std::string, hdf5::Value>;

void require_name(std::uint64_t step, const std::string& what, const std::string& a, const std::string& b) {
  if (a != b) throw Error("CMP-4", "compare checkpoints of step " + std::to_string(step), what + " " + a, b);
}

std::string value_text(const Entries& entries, const std::string& name) {
  const auto entry = entries.find(name);
  if (entry == entries.end()) return "(none)";
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>)
          return value;
        else if constexpr (std::is_same_v<T, double>)
          return number_text(value);
        else
          return std::to_string(value);
      },
      entry->second);
}

std::optional<Divergence> first_entry(std::uint64_t step, const std::string& table, const Entries& a,
                                      const Entries& b) {
  std::set<std::string> names;
  for (const Entries* entries : {&a, &b})
    for (const auto& entry : *entries) names.insert(entry.first);
  for (const std::string& name : names) {
    std::string in_a = value_text(a, name), in_b = value_text(b, name);
    if (in_a != in_b) return Divergence{step, table, name, std::move(in_a), std::move(in_b), {}};
  }
  return std::nullopt;
}

Entries random_entries(const Checkpoint& checkpoint) {
  Entries entries;
  for (std::size_t i = 0; i < checkpoint.random_streams.size(); ++i)
    entries[checkpoint.random_streams[i]] = checkpoint.random_draws[i];
  return entries;
}

Entries optimiser_entries(const Checkpoint& checkpoint) {
  Entries entries = checkpoint.optimiser_scalars;
  entries["kind"] = checkpoint.optimiser_kind;
  return entries;
}

}  // namespace

std::vector<NamedDifference> compare_tensors(const Checkpoint& a, const Checkpoint& b, const Policy& policy) {
  std::vector<NamedDifference> found;
  require_name(a.step, "parameters:", std::to_string(a.parameters.size()), std::to_string(b.parameters.size()));
  require_name(a.step, "optimiser tensors:", std::to_string(a.optimiser_arrays.size()),
               std::to_string(b.optimiser_arrays.size()));
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    const StoredParameter &x = a.parameters[i], &y = b.parameters[i];
    require_name(a.step, "the parameter", x.name, y.name);
    found.push_back({"parameters", x.name, x.value.shape, compare_arrays(x.name, x.value, y.value, policy)});
  }
  for (std::size_t i = 0; i < a.optimiser_arrays.size(); ++i) {
    const NamedArray &x = a.optimiser_arrays[i], &y = b.optimiser_arrays[i];
    require_name(a.step, "the optimiser tensor", x.name, y.name);
    found.push_back({"optimiser", x.name, x.array.shape, compare_arrays(x.name, x.array, y.array, policy)});
  }
  return found;
}

std::optional<Divergence> state_difference(const Checkpoint& a, const Checkpoint& b) {
  if (auto found = first_entry(a.step, "random", random_entries(a), random_entries(b))) return found;
  if (auto found = first_entry(a.step, "optimiser", optimiser_entries(a), optimiser_entries(b))) return found;
  return first_entry(a.step, "train", a.train, b.train);
}

}  // namespace assay
