// Reading maps of names and giving runs and checkpoints other names.
#include "compare/names.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay {
namespace {

const std::set<std::string> known_tables = {"parameters", "optimiser", "masks", "trace"};

[[noreturn]] void refuse(const NameMap& map, const std::string& where, const std::string& expected,
                         const std::string& found) {
  throw Error("CMP-4", "names in " + map.file + ": " + where, expected, found);
}

std::string key_text(const std::string& table, const std::string& name) { return table + ".\"" + name + "\""; }

toml::table parse(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error("FILE-3", "read names in " + path, "a file", "none");
  try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    throw Error("FILE-3", "read names in " + path + ":" + std::to_string(error.source().begin.line), "TOML",
                std::string(error.description()));
  }
}

/// What a table of the map makes of a name.
std::string renamed(const NameMap& map, const std::string& table, const std::string& name) {
  const auto names = map.tables.find(table);
  if (names == map.tables.end()) return name;
  const auto entry = names->second.find(name);
  return entry == names->second.end() ? name : entry->second;
}

void rename_columns(const NameMap& map, const std::string& table, std::vector<std::string>& columns) {
  if (columns.empty()) return;
  if (const auto names = map.tables.find(table); names != map.tables.end())
    for (const auto& [from, to] : names->second)
      if (std::find(columns.begin(), columns.end(), from) == columns.end() && !sabotaged("any_map_fits"))
        refuse(map, key_text(table, from), "a name in /names/" + table + " of the run", "none like it");
  std::set<std::string> used;
  for (std::string& column : columns) {
    std::string name = renamed(map, table, column);
    if (!used.insert(name).second) refuse(map, key_text(table, column), "a name of its own", "\"" + name + "\" twice");
    column = std::move(name);
  }
}

}  // namespace

NameMap read_name_map(const std::string& path) {
  NameMap map{path, {}};
  for (auto&& [key, node] : parse(path)) {
    const std::string table(key.str());
    if (!known_tables.count(table) || !node.is_table())
      refuse(map, table, "the tables parameters, optimiser, masks and trace",
             node.is_table() ? "another table" : "no table");
    for (auto&& [from, to] : *node.as_table()) {
      const auto* name = to.as_string();
      if (!name || name->get().empty())
        refuse(map, key_text(table, std::string(from.str())), "a name in quotes", name ? "an empty one" : "no text");
      map.tables[table][std::string(from.str())] = name->get();
    }
  }
  return map;
}

void rename(RunHead& run, const NameMap& map) {
  RunNames& names = run.description.names;
  rename_columns(map, "parameters", names.parameters);
  rename_columns(map, "optimiser", names.optimiser);
  rename_columns(map, "masks", names.masks);
  rename_columns(map, "trace", names.trace);
}

void rename(Checkpoint& checkpoint, const NameMap& map) {
  for (StoredParameter& parameter : checkpoint.parameters) parameter.name = renamed(map, "parameters", parameter.name);
  for (NamedArray& array : checkpoint.optimiser_arrays) array.name = renamed(map, "optimiser", array.name);
}

void rename(std::vector<NamedArray>& results, const NameMap& map) {
  for (NamedArray& result : results) result.name = renamed(map, "trace", result.name);
}

}  // namespace assay
