// The table of all configuration keys: what the parser, the resolved values and the manual are driven by.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "harness/configuration.hpp"

namespace assay {

/// Functions for each type of a field, to visit it with.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// One key of an experiment file, tied to the member of one `Configuration` that holds its value.
struct ConfigurationKey {
  using Field = std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::int64_t>*,
                             std::vector<std::string>*, std::map<std::string, std::string>*>;

  /// What a value may be beyond its type: a range for a number (each element of a list), choices for a string.
  struct Allowed {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool without_low = false, without_high = false;
    std::vector<std::string> choices = {};
  };

  std::string name;
  Field field;
  Allowed allowed;
  std::string meaning;

  /// "an integer in [0, 16]", "one of a, b": the words of both the refusals and the manual.
  std::string expected() const;
};

/// Every key, section by section, tied to the members of `configuration`, which must outlive the table.
std::vector<ConfigurationKey> configuration_keys(Configuration& configuration);

/// The manual of all keys as Markdown: name, type and range, default, meaning. `reference/configuration.md` is this
/// text.
std::string key_reference();

}  // namespace assay
