// The table of both names, and the copying between both layouts.
#include "checkpoint/gpt2_names.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace assay {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr const char* head_bias = "language_model_head.bias";

/// One parameter of ours, and where it lies in an array of GPT-2's.
struct Row {
  std::string ours, gpt2;
  Extents shape;            ///< ours
  bool in_columns = false;  ///< GPT-2's array is [in, parts · out] (of a bias: [parts · out]), ours is columns of it
  std::int64_t part = 0, parts = 1;

  Extents gpt2_shape() const {
    if (!in_columns) return shape;
    Extents result(shape.rbegin(), shape.rend());
    result.back() *= parts;
    return result;
  }
};

struct Sizes {
  std::int64_t vocabulary, context, width;
  std::vector<std::int64_t> hidden;  ///< of each block
  bool head;                         ///< whether the head has a weight of its own
};

/// All parameters but the bias of the head, in the decoder's order.
std::vector<Row> rows_of(const Sizes& sizes) {
  const std::int64_t width = sizes.width;
  std::vector<Row> rows = {{"token_embedding.weight", "wte.weight", {sizes.vocabulary, width}},
                           {"position_embedding.weight", "wpe.weight", {sizes.context, width}}};
  for (std::size_t n = 0; n < sizes.hidden.size(); ++n) {
    const std::string ours = "blocks." + std::to_string(n) + ".", gpt2 = "h." + std::to_string(n) + ".";
    const auto norm = [&](const std::string& our_name, const std::string& name) {
      rows.push_back({ours + our_name + ".scale", gpt2 + name + ".weight", {width}});
      rows.push_back({ours + our_name + ".bias", gpt2 + name + ".bias", {width}});
    };
    const auto linear = [&](const std::string& our_name, const std::string& name, std::int64_t outputs,
                            std::int64_t inputs, std::int64_t part = 0, std::int64_t parts = 1) {
      rows.push_back({ours + our_name + ".weight", gpt2 + name + ".weight", {outputs, inputs}, true, part, parts});
      rows.push_back({ours + our_name + ".bias", gpt2 + name + ".bias", {outputs}, true, part, parts});
    };
    norm("attention_norm", "ln_1");
    linear("attention.query", "attn.c_attn", width, width, 0, 3);
    linear("attention.key", "attn.c_attn", width, width, 1, 3);
    linear("attention.value", "attn.c_attn", width, width, 2, 3);
    linear("attention.output", "attn.c_proj", width, width);
    norm("feed_forward_norm", "ln_2");
    linear("feed_forward.expand", "mlp.c_fc", sizes.hidden[n], width);
    linear("feed_forward.project", "mlp.c_proj", width, sizes.hidden[n]);
  }
  rows.push_back({"final_norm.scale", "ln_f.weight", {width}});
  rows.push_back({"final_norm.bias", "ln_f.bias", {width}});
  if (sizes.head) rows.push_back({"language_model_head.weight", "lm_head.weight", {sizes.vocabulary, width}});
  return rows;
}

/// Arrays by name, each to be asked for.
class Given {
 public:
  explicit Given(std::string operation) : operation_(std::move(operation)) {}

  [[noreturn]] void refuse(const std::string& name, std::string expected, std::string found) const {
    throw Error("FILE-3", operation_ + ": " + name, std::move(expected), std::move(found));
  }

  void add(const std::string& name, const Array& array) {
    if (!arrays_.emplace(name, &array).second) refuse(name, "every name once", "it twice");
  }

  bool has(const std::string& name) const { return arrays_.count(name) > 0; }

  std::int64_t extent(const std::string& name, std::size_t axis) const {
    const Array& array = find(name);
    if (array.shape.size() != 2) refuse(name, "2 dimensions", shape_text(array.shape));
    return array.shape[axis];
  }

  /// The array of a name, which must have this shape and the type of those that were asked for before.
  const Array& get(const std::string& name, const Extents& shape) {
    const Array& array = find(name);
    if (asked_.empty()) type_ = array.type;
    if (array.shape != shape || array.type != type_)
      refuse(name, std::string(element_name(type_)) + " " + shape_text(shape),
             std::string(element_name(array.type)) + " " + shape_text(array.shape));
    asked_.insert(name);
    return array;
  }

  void require_all_asked() const {
    for (const auto& [name, array] : arrays_)
      if (asked_.count(name) == 0) refuse(name, "a parameter of the decoder", "an unknown name");
  }

 private:
  const Array& find(const std::string& name) const {
    const auto at = arrays_.find(name);
    if (at == arrays_.end()) refuse(name, "an array of this name", "none");
    return *at->second;
  }

  std::string operation_;
  std::map<std::string, const Array*> arrays_;
  std::set<std::string> asked_;
  ElementType type_ = ElementType::float32;
};

/// Calls `copy(ours, gpt2)` with the offset in bytes of each element of a row in our array and in GPT-2's.
template <class Copy>
void for_each_element(const Row& row, std::size_t size, const Copy& copy) {
  const auto outputs = static_cast<std::size_t>(row.shape[0]);
  const std::size_t inputs = row.shape.size() == 1 ? 1 : static_cast<std::size_t>(row.shape[1]);
  const auto part = static_cast<std::size_t>(row.part), parts = static_cast<std::size_t>(row.parts);
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::size_t ours = o * inputs + i;
      copy(size * ours, size * (row.in_columns ? (i * parts + part) * outputs + o : ours));
    }
}

}  // namespace

std::vector<NamedArray> to_gpt2_names(const std::vector<NamedArray>& arrays) {
  Given given("to_gpt2_names");
  for (const auto& [name, array] : arrays) given.add(name, array);
  Sizes sizes{given.extent("token_embedding.weight", 0),
              given.extent("position_embedding.weight", 0),
              given.extent("token_embedding.weight", 1),
              {},
              given.has("language_model_head.weight")};
  const auto hidden = [&] { return "blocks." + std::to_string(sizes.hidden.size()) + ".feed_forward.expand.weight"; };
  while (given.has(hidden())) sizes.hidden.push_back(given.extent(hidden(), 0));

  std::vector<NamedArray> result;
  for (const Row& row : rows_of(sizes)) {
    const Array& ours = given.get(row.ours, row.shape);
    const std::size_t size = element_size(ours.type);
    auto at =
        std::find_if(result.begin(), result.end(), [&](const NamedArray& entry) { return entry.name == row.gpt2; });
    if (at == result.end()) {
      const Extents shape = row.gpt2_shape();
      at = result.insert(at, {row.gpt2, {ours.type, shape, std::vector<std::byte>(shape_count(shape) * size)}});
    }
    for_each_element(row, size, [&](std::size_t from, std::size_t to) {
      std::memcpy(&at->array.bytes[to], &ours.bytes[from], size);
    });
  }
  const Array& bias = given.get(head_bias, {sizes.vocabulary});
  if (std::any_of(bias.bytes.begin(), bias.bytes.end(), [](std::byte x) { return x != std::byte{0}; }))
    given.refuse(head_bias, "zeros, because the head of GPT-2 has no bias", "other values");
  given.require_all_asked();
  return result;
}

std::vector<NamedArray> from_gpt2_names(const std::vector<NamedArray>& arrays) {
  constexpr std::string_view prefix = "transformer.";
  Given given("from_gpt2_names");
  for (const auto& [name, array] : arrays)
    if (!name.ends_with(".attn.bias") && !name.ends_with(".attn.masked_bias"))
      given.add(name.starts_with(prefix) ? name.substr(prefix.size()) : name, array);
  Sizes sizes{given.extent("wte.weight", 0),
              given.extent("wpe.weight", 0),
              given.extent("wte.weight", 1),
              {},
              given.has("lm_head.weight")};
  const auto hidden = [&] { return "h." + std::to_string(sizes.hidden.size()) + ".mlp.c_fc.weight"; };
  while (given.has(hidden())) sizes.hidden.push_back(given.extent(hidden(), 1));

  std::vector<NamedArray> result;
  const auto add = [&](const std::string& name, ElementType type, const Extents& shape) -> std::vector<std::byte>& {
    result.push_back({name, {type, shape, std::vector<std::byte>(shape_count(shape) * element_size(type))}});
    return result.back().array.bytes;
  };
  for (const Row& row : rows_of(sizes)) {
    const Array& gpt2 = given.get(row.gpt2, row.gpt2_shape());
    const std::size_t size = element_size(gpt2.type);
    std::vector<std::byte>& ours = add(row.ours, gpt2.type, row.shape);
    for_each_element(row, size,
                     [&](std::size_t to, std::size_t from) { std::memcpy(&ours[to], &gpt2.bytes[from], size); });
  }
  add(head_bias, result.front().array.type, {sizes.vocabulary});
  given.require_all_asked();
  return result;
}

}  // namespace assay
