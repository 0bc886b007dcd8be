// The table of keys, and everything that follows from it: parsing, strictness, resolved values and the manual.
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

#include "base/error.hpp"

namespace assay {
namespace {

using Integers = std::vector<std::int64_t>;
using Strings = std::map<std::string, std::string>;
using Field = std::variant<bool*, std::int64_t*, double*, std::string*, Integers*, Strings*>;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What a value may be beyond its type: a range for a number (each element of a list), choices for a string.
struct Allowed {
  double low = -infinity, high = infinity;
  bool without_low = false, without_high = false;
  std::vector<std::string> choices = {};
};

Allowed at_least(double low) { return {.low = low}; }
Allowed more_than(double low) { return {.low = low, .without_low = true}; }
Allowed from_to(double low, double high) { return {.low = low, .high = high}; }
Allowed from_below(double low, double high) { return {.low = low, .high = high, .without_high = true}; }
Allowed one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }

struct Key {
  std::string name;
  Field field;
  Allowed allowed;
  std::string meaning;
};

std::vector<Key> table_of_keys(Configuration& c) {
  return {
      {"experiment.name", &c.experiment.name, {}, "What reports call the run."},
      {"experiment.seed", &c.experiment.seed, at_least(0), "Seed of initial values, data order and dropout."},

      {"data.kind", &c.data.kind, one_of({"fashion_mnist", "idx", "synthetic"}),
       "`idx` takes any four IDX files that are named like Fashion-MNIST's; `synthetic` needs no files."},
      {"data.path", &c.data.path, {}, "Folder of the IDX files, plain or `.gz`."},
      {"data.validation", &c.data.validation, at_least(0),
       "This many samples at the end of the training set are kept for validation; 0: none."},
      {"data.limit", &c.data.limit, at_least(0),
       "Use only the first samples of the training and the test set; 0: all."},
      {"data.digests", &c.data.digests, {}, "SHA-256 that files must have, by file name; other files are not checked."},
      {"data.synthetic.samples", &c.data.synthetic.samples, from_to(1, 1 << 24), "Samples of each set."},
      {"data.synthetic.features", &c.data.synthetic.features, from_to(1, 1 << 16), "Values of one sample."},
      {"data.synthetic.classes", &c.data.synthetic.classes, from_to(1, 1 << 16), "Classes."},
      {"data.synthetic.noise", &c.data.synthetic.noise, from_to(0, 1e6), "Half the width of a class's box."},

      {"model.kind", &c.model.kind, one_of({"mlp"}), "The architecture."},
      {"model.layers", &c.model.layers, from_to(1, 1 << 20), "Widths from the input to the classes, at least two."},
      {"model.activation", &c.model.activation, one_of({"relu", "gelu", "tanh", "sigmoid"}), "Between two layers."},
      {"model.dropout", &c.model.dropout, from_below(0, 1), "Share of hidden values dropped while training."},

      {"loss.kind", &c.loss.kind, one_of({"cross_entropy", "mse"}), "`mse` compares with the one-hot label."},
      {"loss.label_smoothing", &c.loss.label_smoothing, from_below(0, 1), "Of `cross_entropy`."},

      {"optimiser.kind", &c.optimiser.kind, one_of({"sgd", "adam", "adamw"}), "The update rule."},
      {"optimiser.learning_rate", &c.optimiser.learning_rate, more_than(0), "The largest rate of the schedule."},
      {"optimiser.momentum", &c.optimiser.momentum, from_below(0, 1), "Of `sgd`."},
      {"optimiser.nesterov", &c.optimiser.nesterov, {}, "Of `sgd`; needs a momentum."},
      {"optimiser.beta1", &c.optimiser.beta1, from_below(0, 1), "Of `adam` and `adamw`: decay of the first moment."},
      {"optimiser.beta2", &c.optimiser.beta2, from_below(0, 1), "Of `adam` and `adamw`: decay of the second moment."},
      {"optimiser.epsilon", &c.optimiser.epsilon, more_than(0), "Of `adam` and `adamw`: added to √v."},
      {"optimiser.weight_decay", &c.optimiser.weight_decay, at_least(0),
       "`adamw` shrinks the weights by it, `sgd` and `adam` add it times the weight to the gradient."},

      {"schedule.kind", &c.schedule.kind,
       one_of({"constant", "step", "cosine", "one_cycle", "warmup_cosine", "cyclic"}), "Course of the learning rate."},
      {"schedule.period", &c.schedule.period, at_least(0),
       "Steps from drop to drop of `step`, to the restart of `cosine`, of one rise and fall of `cyclic`; 0: the whole "
       "run."},
      {"schedule.factor",
       &c.schedule.factor,
       {.low = 0, .high = 1, .without_low = true},
       "Of `step`: the rate is multiplied by it at each drop."},
      {"schedule.warmup", &c.schedule.warmup, from_below(0, 1),
       "Of `one_cycle` and `warmup_cosine`: share of the run in which the rate rises."},
      {"schedule.start", &c.schedule.start, from_to(0, 1),
       "Of `one_cycle` and `warmup_cosine`: first rate, as a share of the largest."},
      {"schedule.minimum", &c.schedule.minimum, from_to(0, 1),
       "Lowest rate of `cosine` and `cyclic`, last one of `one_cycle` and `warmup_cosine`, as a share of the largest."},

      {"train.batch", &c.train.batch, from_to(1, 1 << 20), "Samples of one step."},
      {"train.epochs", &c.train.epochs, at_least(0), "Length of the run in passes over the training set."},
      {"train.steps", &c.train.steps, at_least(0), "Length of the run in steps, instead of `train.epochs`."},
      {"train.shards", &c.train.shards, from_to(1, 1 << 16),
       "Parts, a power of two, that a batch is computed in; part of the result's bits."},
      {"train.clip_norm", &c.train.clip_norm, at_least(0), "Largest global norm of the gradient; 0: any."},
      {"train.validate_every", &c.train.validate_every, at_least(0), "Steps between validations; 0: after each epoch."},
      {"train.evaluation_batch", &c.train.evaluation_batch, from_to(1, 1 << 20), "Samples evaluated at once."},

      {"checkpoint.every", &c.checkpoint.every, at_least(0), "Steps between checkpoints; 0: only at the end."},
      {"checkpoint.keep", &c.checkpoint.keep, at_least(1), "Checkpoints kept, the newest ones."},
      {"checkpoint.keep_best",
       &c.checkpoint.keep_best,
       {},
       "Also keep the one with the best validation accuracy, when there is a validation set."},

      {"run.device", &c.run.device, {}, "Where to compute; `assay devices` lists them."},
      {"run.threads", &c.run.threads, from_to(0, 1024),
       "Threads, which never change a bit; 0: `ASSAY_THREADS`, else one per core."},
      {"run.numerics", &c.run.numerics, one_of({"exact"}), "`exact`: the same bits everywhere."},
      {"run.digests",
       &c.run.digests,
       {},
       "Record a digest of every parameter, gradient and optimiser tensor per step."},
  };
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string number_text(double x) {
  std::ostringstream text;
  text << x;  // six digits are enough for the bounds in the table
  return std::abs(x) < 1e15 && x == std::floor(x) ? std::to_string(static_cast<std::int64_t>(x)) : text.str();
}

/// "an integer in [0, 16]", "one of a, b": the words of both the refusals and the manual.
std::string expected_text(const Key& key) {
  const Allowed& allowed = key.allowed;
  std::string range;
  if (allowed.low > -infinity && allowed.high < infinity)
    range = std::string(" in ") + (allowed.without_low ? "(" : "[") + number_text(allowed.low) + ", " +
            number_text(allowed.high) + (allowed.without_high ? ")" : "]");
  else if (allowed.low > -infinity)
    range = (allowed.without_low ? " > " : " >= ") + number_text(allowed.low);
  std::string choices;
  for (const std::string& choice : allowed.choices) choices += (choices.empty() ? "" : ", ") + choice;
  return std::visit(
      Overloaded{[](bool*) { return std::string("true or false"); },
                 [&](std::int64_t*) { return "an integer" + range; }, [&](double*) { return "a number" + range; },
                 [&](std::string*) {
                   if (choices.empty()) return std::string("a string");
                   return allowed.choices.size() == 1 ? "\"" + choices + "\"" : "one of " + choices;
                 },
                 [&](Integers*) { return "a list of integers" + range; },
                 [](Strings*) { return std::string("a table of SHA-256 digests (64 lower-case digits)"); }},
      key.field);
}

nlohmann::json json_of(const Field& field) {
  return std::visit([](auto* value) { return nlohmann::json(*value); }, field);
}

/// A value of a file as a message may show it: one line, not long.
std::string found_text(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& element) { text << element; });
  std::string shown = text.str();
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  if (shown.size() > 80) shown = shown.substr(0, 80) + "…";
  const char* kind = node.is_string()    ? "the string "
                     : node.is_integer() ? "the integer "
                     : node.is_array()   ? "the list "
                     : node.is_table()   ? "the table "
                                         : "";
  return kind + shown;
}

bool is_allowed(double x, const Allowed& allowed) {
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

/// Edits (insert, delete, replace, swap neighbours) that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string_view after_last_dot(std::string_view name) { return name.substr(name.rfind('.') + 1); }
std::string section_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

/// Applies files and overrides to one configuration and remembers which place each key came from.
class Reader {
 public:
  explicit Reader(Configuration& configuration) : configuration_(configuration), keys_(table_of_keys(configuration)) {}

  void read_file(const std::string& text, const std::string& source) {
    try {
      read(toml::parse(text), "", [&](const toml::source_region& region) {
        return source + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
      });
    } catch (const toml::parse_error& error) {
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
    if (c.optimiser.nesterov && c.optimiser.momentum == 0)
      refuse("optimiser.nesterov", "optimiser.momentum above 0 with it", "0");
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
        if (!assign(*key, node)) refuse(name, expected_text(*key), found_text(node));
        given_.push_back(name);
      } else if (is_section(name)) {
        if (!node.is_table()) {
          places_[name] = place(node.source());
          refuse(name, "a table of keys", found_text(node));
        }
        read(*node.as_table(), name + ".", place);
      } else {
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
      if (distance < best_distance) {
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
  if (size > largest) refuse("at most " + std::to_string(largest) + " bytes", std::to_string(size) + " bytes");
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
  for (const Key& key : table_of_keys(copy)) resolved[key.name] = json_of(key.field);
  return resolved.dump(2);
}

std::string key_reference() {
  Configuration defaults;
  std::string text =
      "# Configuration\n\n"
      "An experiment is a TOML file. Every key has a default, an unknown key is refused, and `--set key=value` "
      "replaces a "
      "value on the command line. This page is printed by `assay run --help-keys`.\n";
  std::string section;
  for (const Key& key : table_of_keys(defaults)) {
    if (section_of(key.name) != section) {
      section = section_of(key.name);
      text += "\n## " + section + "\n\n| key | value | default | meaning |\n|---|---|---|---|\n";
    }
    text += "| `" + key.name + "` | " + expected_text(key) + " | `" + json_of(key.field).dump() + "` | " + key.meaning +
            " |\n";
  }
  return text;
}

void check_layers_fit_data(const Configuration& configuration, const Dataset& data) {
  const Integers& layers = configuration.model.layers;
  const auto refuse = [&](const std::string& what, std::int64_t expected, std::int64_t found) {
    throw Error("RUN-1", configuration.source + ": model.layers",
                what + " " + std::to_string(expected) + " as in the " + data.name + " set", std::to_string(found));
  };
  if (layers.front() != data.features) refuse("a first width of", data.features, layers.front());
  if (layers.back() != data.classes) refuse("a last width of", data.classes, layers.back());
}

}  // namespace assay
