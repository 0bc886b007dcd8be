// Writing and reading safetensors files.
#include "checkpoint/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/file.hpp"
#include "base/sabotage.hpp"

namespace assay {
namespace {

constexpr const char* metadata_name = "__metadata__";
constexpr std::size_t length_size = 8;  // the u64 that the file begins with

struct StoredType {
  const char* name;
  std::size_t size;
  ElementType becomes;
};

constexpr StoredType stored_types[] = {
    {"F32", 4, ElementType::float32},  {"F64", 8, ElementType::float64}, {"I32", 4, ElementType::int32},
    {"U8", 1, ElementType::uint8},     {"U64", 8, ElementType::uint64},  {"F16", 2, ElementType::float32},
    {"BF16", 2, ElementType::float32}, {"I64", 8, ElementType::int32},   {"BOOL", 1, ElementType::uint8},
};

const StoredType* find_type(const std::string& name) {
  const auto at = std::find_if(std::begin(stored_types), std::end(stored_types),
                               [&](const StoredType& d) { return d.name == name; });
  return at == std::end(stored_types) ? nullptr : at;
}

/// The first dtype of a type in the list is the one that is written.
const char* name_of_type(ElementType type) {
  return std::find_if(std::begin(stored_types), std::end(stored_types),
                      [&](const StoredType& d) { return d.becomes == type; })
      ->name;
}

float widen_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 0xFFu : exponent + 112) << 23 | fraction << 13);
}

template <class To, class From, class Convert>
std::vector<std::byte> converted(std::span<const std::byte> bytes, const Convert& convert) {
  std::vector<std::byte> result(bytes.size() / sizeof(From) * sizeof(To));
  for (std::size_t i = 0; i < bytes.size() / sizeof(From); ++i) {
    From from;
    std::memcpy(&from, &bytes[i * sizeof(From)], sizeof from);
    const To to = convert(from);
    std::memcpy(&result[i * sizeof(To)], &to, sizeof to);
  }
  return result;
}

std::uint64_t length_of_header(std::span<const std::byte> file) {
  std::uint64_t length;
  std::memcpy(&length, file.data(), sizeof length);
  return length;
}

/// The header of one file, checked step by step.
class Header {
 public:
  struct Entry {
    std::string name;
    const StoredType* dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin, end;  ///< in bytes, behind the header
  };

  Header(const std::string& path, std::span<const std::byte> file) : path_(path) {
    if (file.size() < length_size)
      refuse("", "a file of at least " + std::to_string(length_size) + " bytes",
             std::to_string(file.size()) + " bytes");
    const std::uint64_t length = length_of_header(file), room = file.size() - length_size;
    const std::uint64_t most = std::min(room, safetensors_header_limit);
    if (length > most)
      refuse("", "a header of at most " + std::to_string(most) + " bytes", std::to_string(length) + " bytes");
    values_ = file.subspan(length_size + length);
    const nlohmann::json header = parse({reinterpret_cast<const char*>(file.data()) + length_size, length});
    for (const std::string& name : names_)
      name == metadata_name ? read_metadata(header[name]) : read(name, header[name]);
    check_places();
  }

  const std::vector<Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  Array array_of(const Entry& entry) const {
    const auto bytes = values_.subspan(entry.begin, entry.end - entry.begin);
    const std::string dtype = entry.dtype->name;
    Array array{entry.dtype->becomes, entry.shape, {}};
    if (dtype == "F16") {
      array.bytes = converted<float, std::uint16_t>(bytes, widen_half);
    } else if (dtype == "BF16") {
      array.bytes = converted<float, std::uint16_t>(
          bytes, [](std::uint16_t x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); });
    } else if (dtype == "I64") {
      array.bytes = converted<std::int32_t, std::int64_t>(bytes, [&](std::int64_t x) {
        if (x != static_cast<std::int32_t>(x)) refuse(entry.name, "values of I64 that int32 holds", std::to_string(x));
        return static_cast<std::int32_t>(x);
      });
    } else {
      array.bytes.assign(bytes.begin(), bytes.end());
    }
    return array;
  }

 private:
  [[noreturn]] void refuse(const std::string& tensor, std::string expected, std::string found) const {
    throw Error("FILE-6", "safetensors file " + path_ + (tensor.empty() ? "" : ": tensor " + shown(tensor)),
                std::move(expected), std::move(found));
  }

  /// The header as JSON without repeated keys; `names_` are those of its first level in their order.
  nlohmann::json parse(std::string_view text) {
    constexpr int deepest = 2;  // header, tensor, list
    std::vector<std::set<std::string>> keys;
    std::string repeated;
    bool too_deep = false;
    using Event = nlohmann::json::parse_event_t;
    const auto look = [&](int depth, Event event, const nlohmann::json& value) {
      if (event == Event::object_start) keys.emplace_back();
      if (event == Event::object_end) keys.pop_back();
      if (event == Event::key) {
        const std::string& name = value.get_ref<const std::string&>();
        if (!keys.back().insert(name).second) repeated = name;
        if (keys.size() == 1) names_.push_back(name);
      }
      if ((event == Event::object_start || event == Event::array_start) && depth > deepest) too_deep = true;
      return !too_deep;
    };
    nlohmann::json header = nlohmann::json::parse(text, look, false);
    if (too_deep) refuse("", "a JSON header of tensors, with types and lists of numbers", "deeper levels");
    // The parser takes a NUL for the end of its text, whatever follows.
    if (header.is_discarded() || text.find('\0') != text.npos) refuse("", "a JSON header", "something else");
    if (!header.is_object()) refuse("", "a JSON object as header", header.type_name());
    if (!repeated.empty()) refuse("", "every key of the header once", shown(repeated) + " again");
    return header;
  }

  void read_metadata(const nlohmann::json& metadata) {
    if (!metadata.is_object()) refuse("", "an object of strings as __metadata__", metadata.type_name());
    for (const auto& [key, value] : metadata.items()) {
      if (!value.is_string()) refuse("", "a string as " + shown(key) + " of __metadata__", value.type_name());
      metadata_[key] = value.get<std::string>();
    }
  }

  void read(const std::string& name, const nlohmann::json& tensor) {
    if (name.empty()) refuse("", "names of tensors", "an empty one");
    if (!tensor.is_object() || tensor.size() != 3 || !tensor.contains("dtype") || !tensor.contains("shape") ||
        !tensor.contains("data_offsets"))
      refuse(name, "an object of dtype, shape and data_offsets", shown(tensor));
    const nlohmann::json& dtype = tensor["dtype"];
    Entry entry{name, dtype.is_string() ? find_type(dtype.get<std::string>()) : nullptr, {}, 0, 0};
    if (!entry.dtype) refuse(name, "a dtype of " + known_types(), shown(dtype));
    std::uint64_t size = entry.dtype->size;
    bool empty = false;
    for (std::int64_t extent : numbers(name, "shape", tensor["shape"])) {
      entry.shape.push_back(extent);
      empty = empty || extent == 0;
      if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)), &size))
        refuse(name, "a shape whose size fits 64 bits", shape_text(entry.shape));
    }
    if (empty) size = 0;
    const std::vector<std::int64_t> offsets = numbers(name, "data_offsets", tensor["data_offsets"]);
    if (offsets.size() != 2 || offsets[0] > offsets[1] || std::cmp_greater(offsets[1], values_.size()))
      refuse(name, "data_offsets [begin, end] within " + std::to_string(values_.size()) + " bytes",
             shown(tensor["data_offsets"]));
    entry.begin = static_cast<std::uint64_t>(offsets[0]);
    entry.end = static_cast<std::uint64_t>(offsets[1]);
    if (entry.end - entry.begin != size)
      refuse(name, std::to_string(size) + " bytes of " + entry.dtype->name + " " + shape_text(entry.shape),
             "data_offsets of " + std::to_string(entry.end - entry.begin));
    entries_.push_back(std::move(entry));
  }

  std::vector<std::int64_t> numbers(const std::string& name, const std::string& key, const nlohmann::json& list) const {
    std::vector<std::int64_t> result;
    if (!list.is_array()) refuse(name, "a list as " + key, shown(list));
    for (const nlohmann::json& number : list) {
      if (!number.is_number_unsigned() ||
          std::cmp_greater(number.get<std::uint64_t>(), std::numeric_limits<std::int64_t>::max()))
        refuse(name, key + " of integers from 0 to 2^63 - 1", shown(number));
      result.push_back(number.get<std::int64_t>());
    }
    return result;
  }

  /// Puts the entries into the order of their values, which must fill the file without a hole or an overlap.
  void check_places() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t end = 0;
    for (const Entry& entry : entries_) {
      if (entry.begin != end && !sabotaged("safetensors_overlap"))
        refuse(entry.name, "data_offsets from " + std::to_string(end) + ", where the values before it end",
               std::to_string(entry.begin));
      end = entry.end;
    }
    if (end != values_.size())
      refuse("", std::to_string(end) + " bytes after the header, as data_offsets say", std::to_string(values_.size()));
  }

  static std::string known_types() {
    std::string text;
    for (const StoredType& dtype : stored_types) text += (text.empty() ? "" : ", ") + std::string(dtype.name);
    return text;
  }

  /// A value of the header as a message may show it.
  static std::string shown(const nlohmann::json& value) {
    std::string text = value.dump(-1, ' ', true);
    return text.size() > 80 ? text.substr(0, 80) + "…" : text;
  }

  const std::string& path_;
  std::span<const std::byte> values_;
  std::vector<std::string> names_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace

void save_safetensors(const std::string& path, const Safetensors& content) {
  const auto refuse = [&](std::string expected, const std::string& name) {
    throw Error("FILE-3", "write " + path, std::move(expected), "\"" + name + "\"");
  };
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty()) header[metadata_name] = content.metadata;
  std::set<std::string> names;
  std::vector<std::span<const std::byte>> pieces(2);
  std::uint64_t end = 0;
  for (const auto& [name, array] : content.arrays) {
    if (name.empty() || name == metadata_name) refuse("names of tensors", name);
    if (!names.insert(name).second) refuse("every name once", name);
    const std::uint64_t begin = end;
    end += array.bytes.size();
    header.push_back(
        {name, {{"dtype", name_of_type(array.type)}, {"shape", array.shape}, {"data_offsets", {begin, end}}}});
    pieces.push_back(array.bytes);
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw Error("FILE-3", "write " + path, "names and metadata in UTF-8", "other bytes");
  }
  text.append((length_size - text.size() % length_size) % length_size, ' ');  // so that the values are aligned
  const std::uint64_t length = text.size();
  pieces[0] = std::as_bytes(std::span(&length, 1));
  pieces[1] = std::as_bytes(std::span(text));
  write_file(path, pieces);
}

Safetensors load_safetensors(const std::string& path) {
  const std::vector<std::byte> file = read_file("safetensors file " + path, path);
  const Header header(path, file);
  Safetensors content;
  content.metadata = header.metadata();
  for (const Header::Entry& entry : header.entries()) content.arrays.push_back({entry.name, header.array_of(entry)});
  return content;
}

}  // namespace assay
