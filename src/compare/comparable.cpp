// Finding what makes two runs different experiments.
#include "compare/comparable.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "harness/configuration.hpp"

namespace assay {
namespace {

nlohmann::json resolved(const RunHead& run) {
  nlohmann::json keys = nlohmann::json::parse(run.description.configuration.resolved, nullptr, false);
  if (!keys.is_object())
    throw Error("FILE-3", "read /config/resolved of a run", "a JSON object of all keys",
                "\"" + run.description.configuration.resolved.substr(0, 40) + "\"");
  const nlohmann::json defaults = nlohmann::json::parse(resolved_json(Configuration{}));
  for (const auto& [key, value] : defaults.items())
    if (!keys.contains(key)) keys[key] = value;  // the run is older than the key
  return keys;
}

bool is_neutral(const std::string& key) {
  static const std::set<std::string> names = {"experiment.name", "data.path", "data.digests", "model.base"};
  return key.starts_with("run.") || key.starts_with("checkpoint.") || key.starts_with("trace.") || names.count(key) > 0;
}

bool is_length(const std::string& key) { return key == "train.epochs" || key == "train.steps"; }

std::string text_of(const nlohmann::json& keys, const std::string& key) {
  return keys.contains(key) ? keys[key].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                            : "(no such key)";
}

std::string entry(const std::vector<std::string>& names, std::size_t i) {
  return i < names.size() ? names[i] : "(none)";
}

void compare_names(std::vector<Difference>& found, const std::string& what, const std::vector<std::string>& a,
                   const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size() || i < b.size(); ++i)
    if (entry(a, i) != entry(b, i)) {
      found.push_back({what + " " + std::to_string(i + 1), entry(a, i), entry(b, i)});
      return;
    }
}

}  // namespace

std::string provenance_of(const RunHead& run, const std::string& name, const std::string& otherwise) {
  const auto entry = run.description.provenance.find(name);
  return entry == run.description.provenance.end() ? otherwise : entry->second;
}

bool has_tensor_digests(const RunHead& run) {
  const nlohmann::json keys = resolved(run);
  const auto says = [&](const char* key, const nlohmann::json& value) {
    return keys.contains(key) && keys[key] == value;
  };
  return !says("trace.level", "none") && !says("run.digests", false);  // the key of older runs
}

std::vector<Difference> differences_of_experiment(const RunHead& a, const RunHead& b) {
  std::vector<Difference> found;
  if (sabotaged("other_experiments_are_compared")) return found;
  if (a.numerics_version != b.numerics_version)
    found.push_back({"numerics version", std::to_string(a.numerics_version), std::to_string(b.numerics_version)});

  const nlohmann::json keys_a = resolved(a), keys_b = resolved(b);
  const bool any_length = text_of(keys_a, "schedule.kind") == "\"constant\"";
  std::set<std::string> all;
  for (const nlohmann::json* keys : {&keys_a, &keys_b})
    for (const auto& item : keys->items()) all.insert(item.key());
  for (const std::string& key : all) {
    if ((is_neutral(key) && !sabotaged("where_it_ran_counts")) || (any_length && is_length(key))) continue;
    const std::string value_a = text_of(keys_a, key), value_b = text_of(keys_b, key);
    if (value_a != value_b && (found.empty() || !sabotaged("one_difference_is_told")))
      found.push_back({key, value_a, value_b});
  }

  const auto data_digest = [](const RunHead& run) { return provenance_of(run, "data_digest", "(not recorded)"); };
  if (data_digest(a) != data_digest(b)) found.push_back({"digest of the data", data_digest(a), data_digest(b)});

  const RunNames &names_a = a.description.names, &names_b = b.description.names;
  const bool with_digests = has_tensor_digests(a) && has_tensor_digests(b);
  if (with_digests) {
    compare_names(found, "parameter", names_a.parameters, names_b.parameters);
    compare_names(found, "optimiser tensor", names_a.optimiser, names_b.optimiser);
    compare_names(found, "mask", names_a.masks, names_b.masks);
  }
  return found;
}

}  // namespace assay
