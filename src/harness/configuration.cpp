// From the text of an experiment and its overrides to a checked configuration.
#include "harness/configuration.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include "base/edit_distance.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "harness/configuration_keys.hpp"

namespace assay {
namespace {

using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;
using Strings = std::map<std::string, std::string>;
using Key = ConfigurationKey;

/// A value of a file as a message may show it: one line, not long.
std::string found_text(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& element) { text << element; });
  std::string shown = text.str();
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  if (shown.size() > 80) {
    std::size_t end = 80;
    while ((shown[end] & 0xC0) == 0x80) --end;  // not inside a character of UTF-8
    shown = shown.substr(0, end) + "…";
  }
  const char* kind = node.is_string()    ? "the string "
                     : node.is_integer() ? "the integer "
                     : node.is_array()   ? "the list "
                     : node.is_table()   ? "the table "
                                         : "";
  return kind + shown;
}

bool is_allowed(double x, const Key::Allowed& allowed) {
  return std::isfinite(x) && (allowed.without_low ? x > allowed.low : x >= allowed.low) &&
         (allowed.without_high ? x < allowed.high : x <= allowed.high);
}

/// Puts a value of the right type and range into the field of a key, or says no.
bool assign(const Key& key, const toml::node& node) {
  const auto integer = [&](const toml::node& from, std::int64_t& into) {
    const toml::value<std::int64_t>* value = from.as_integer();
    if (!value || !is_allowed(static_cast<double>(value->get()), key.allowed)) return false;
    into = value->get();
    return true;
  };
  return std::visit(
      Overloaded{[&](bool* field) {
                   if (node.is_boolean()) *field = node.as_boolean()->get();
                   return node.is_boolean();
                 },
                 [&](std::int64_t* field) { return integer(node, *field); },
                 [&](double* field) {
                   const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
                   if (!value || !is_allowed(*value, key.allowed)) return false;
                   *field = *value;
                   return true;
                 },
                 [&](std::string* field) {
                   const auto& choices = key.allowed.choices;
                   if (!node.is_string()) return false;
                   const std::string& value = node.as_string()->get();
                   if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end())
                     return false;
                   *field = value;
                   return true;
                 },
                 [&](Integers* field) {
                   if (!node.is_array()) return false;
                   Integers values;
                   for (const toml::node& element : *node.as_array())
                     if (!integer(element, values.emplace_back())) return false;
                   *field = values;
                   return true;
                 },
                 [&](Names* field) {
                   if (!node.is_array()) return false;
                   Names values;
                   for (const toml::node& element : *node.as_array()) {
                     if (!element.is_string()) return false;
                     values.push_back(element.as_string()->get());
                   }
                   *field = values;
                   return true;
                 },
                 [&](Strings* field) {
                   if (!node.is_table()) return false;
                   for (const auto& [name, element] : *node.as_table()) {
                     const std::string value = element.value_or(std::string());
                     if (value.size() != 64 || value.find_first_not_of("0123456789abcdef") != std::string::npos)
                       return false;
                     (*field)[std::string(name.str())] = value;
                   }
                   return true;
                 }},
      key.field);
}

std::string_view after_last_dot(std::string_view name) { return name.substr(name.rfind('.') + 1); }
std::string section_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

/// Applies files and overrides to one configuration and remembers which place each key came from.
class Reader {
 public:
  explicit Reader(Configuration& configuration)
      : configuration_(configuration), keys_(configuration_keys(configuration)) {}

  void read_file(const std::string& text, const std::string& source) {
    try {
      read(toml::parse(text), "", [&](const toml::source_region& region) {
        return source + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
      });
    } catch (const toml::parse_error& error) {
      if (sabotaged("syntax_errors_pass_through")) throw;
      const toml::source_position at = error.source().begin;
      throw Error("RUN-1", source + ":" + std::to_string(at.line) + ":" + std::to_string(at.column), "TOML",
                  std::string(error.description()));
    }
    choose_length();
  }

  void read_overrides(const std::vector<std::string>& overrides) {
    for (const std::string& text : overrides)
      read(parse_override(text), "", [&](const toml::source_region&) { return "--set " + text; });
    choose_length();
  }

  void check_together() const {
    const Configuration& c = configuration_;
    if (c.train.epochs == 0 && c.train.steps == 0)
      refuse("train.epochs", "train.epochs or train.steps above 0", "both 0");
    if (!std::has_single_bit(static_cast<std::uint64_t>(c.train.shards)))
      refuse("train.shards", "a power of two", std::to_string(c.train.shards));
    if (c.model.layers.size() < 2) refuse("model.layers", "at least two widths", std::to_string(c.model.layers.size()));
    if (!c.adapter.layers.empty() && c.model.base.empty()) refuse("adapter.layers", "model.base with it", "none");
    if (!c.quantise.layers.empty() && c.adapter.layers.empty())
      refuse("quantise.layers", "adapter.layers with it, as codes are not trained", "none");
    if (!std::has_single_bit(static_cast<std::uint64_t>(c.quantise.block)))
      refuse("quantise.block", "a power of two", std::to_string(c.quantise.block));
    if (c.optimiser.nesterov && c.optimiser.momentum == 0)
      refuse("optimiser.nesterov", "optimiser.momentum above 0 with it", "0");
    if (c.run.numerics == "fast" && c.run.device == "reference")
      refuse("run.numerics", "exact on the device reference, which has one numerics only", "fast");
    if (!c.trace.tensors.empty() && c.trace.level != "module" && c.trace.level != "op")
      refuse("trace.tensors", "trace.level \"module\" or \"op\" with it", "\"" + c.trace.level + "\"");
    if (c.run.tf32 && c.run.numerics != "fast") refuse("run.tf32", "run.numerics = \"fast\" with it", c.run.numerics);
  }

 private:
  [[noreturn]] void refuse(const std::string& key, std::string expected, std::string found) const {
    const auto place = places_.find(key);
    throw Error("RUN-1", place == places_.end() ? key : place->second + ": " + key, std::move(expected),
                std::move(found));
  }

  template <class Place>
  void read(const toml::table& table, const std::string& prefix, const Place& place) {
    for (const auto& [toml_key, node] : table) {
      const std::string name = prefix + std::string(toml_key.str());
      const auto key =
          std::find_if(keys_.begin(), keys_.end(), [&, &name = name](const Key& k) { return k.name == name; });
      if (key != keys_.end()) {
        places_[name] = place(node.source());
        if (!assign(*key, node)) refuse(name, key->expected(), found_text(node));
        given_.push_back(name);
      } else if (is_section(name)) {
        if (!node.is_table()) {
          places_[name] = place(node.source());
          refuse(name, "a table of keys", found_text(node));
        }
        read(*node.as_table(), name + ".", place);
      } else if (!sabotaged("unknown_keys_are_passed_over")) {
        places_[name] = place(toml_key.source());
        refuse(name, "a known key (the nearest is " + nearest(name, node.is_table()) + ")", "an unknown key");
      }
    }
  }

  bool is_section(const std::string& name) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return key.name.rfind(name + ".", 0) == 0; });
  }

  /// A right word in the wrong section is one edit away, a table is compared with sections only.
  std::string nearest(const std::string& name, bool table) const {
    constexpr std::size_t longest = 100;
    const std::string_view word = std::string_view(name).substr(0, longest);
    std::string best;
    std::size_t best_distance = std::numeric_limits<std::size_t>::max();
    for (const Key& key : keys_) {
      const std::string candidate = table ? section_of(key.name) : key.name;
      const std::size_t distance =
          std::min(edit_distance(word, candidate), edit_distance(after_last_dot(word), after_last_dot(candidate)) + 1);
      if (distance < best_distance && !(sabotaged("any_key_is_the_nearest") && !best.empty())) {
        best_distance = distance;
        best = candidate;
      }
    }
    return best;
  }

  static toml::table parse_override(const std::string& text) {
    const std::size_t equals = text.find('=');
    const auto refuse = [&](std::string found) {
      throw Error("RUN-1", "--set " + text, "key=value", std::move(found));
    };
    if (equals == std::string::npos) refuse("no '='");
    if (text.find_first_of("\r\n") != std::string::npos) refuse("more than one line");
    toml::table table;
    try {
      table = toml::parse(text);
    } catch (const toml::parse_error&) {
      try {
        table = toml::parse(text.substr(0, equals) + "=''");
      } catch (const toml::parse_error& error) {
        refuse(std::string(error.description()));
      }
      toml::table* innermost = &table;
      while (!innermost->empty() && innermost->begin()->second.is_table())
        innermost = innermost->begin()->second.as_table();
      if (!innermost->empty()) innermost->begin()->second.ref<std::string>() = text.substr(equals + 1);
    }
    if (table.empty()) refuse("no key");
    return table;
  }

  /// Of `train.epochs` and `train.steps`, what one source gives replaces what stood before.
  void choose_length() {
    const auto given = [&](const std::string& name) { return std::count(given_.begin(), given_.end(), name) > 0; };
    Configuration::Train& train = configuration_.train;
    const bool epochs = given("train.epochs") && train.epochs > 0;
    const bool steps = given("train.steps") && train.steps > 0;
    if (epochs && steps)
      refuse("train.steps", "either train.epochs or train.steps",
             "both: " + std::to_string(train.epochs) + " epochs, " + std::to_string(train.steps) + " steps");
    if (epochs) train.steps = 0;
    if (steps) train.epochs = 0;
    given_.clear();
  }

  Configuration& configuration_;
  std::vector<Key> keys_;
  std::map<std::string, std::string> places_;
  std::vector<std::string> given_;  ///< keys of the source being read
};

}  // namespace

Configuration parse_configuration(const std::string& text, const std::string& source,
                                  const std::vector<std::string>& overrides) {
  Configuration configuration;
  configuration.source = source;
  configuration.text = text;
  configuration.overrides = overrides;
  Reader reader(configuration);
  reader.read_file(text, source);
  reader.read_overrides(overrides);
  reader.check_together();
  return configuration;
}

Configuration load_configuration(const std::string& path, const std::vector<std::string>& overrides) {
  constexpr std::uintmax_t largest = 1 << 20;
  const auto refuse = [&](std::string expected, std::string found) {
    throw Error("RUN-1", "experiment file " + path, std::move(expected), std::move(found));
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) refuse("a readable file", "nothing");
  if (!std::filesystem::is_regular_file(status)) refuse("a readable file", "something that is no regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (size > largest && !sabotaged("experiments_of_any_size"))
    refuse("at most " + std::to_string(largest) + " bytes", std::to_string(size) + " bytes");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("a readable file", std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) refuse("a readable file", "a read error");
  return parse_configuration(text.str(), path, overrides);
}

std::string resolved_json(const Configuration& configuration) {
  Configuration copy = configuration;
  nlohmann::json resolved;
  if (sabotaged("defaults_are_recorded")) copy = {};
  for (const Key& key : configuration_keys(copy))
    std::visit([&](const auto* value) { resolved[key.name] = *value; }, key.field);
  return resolved.dump(2);
}

}  // namespace assay
