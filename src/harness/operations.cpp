// The table of operations: a row each, with its attributes and its call.
#include "harness/operations.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "autograd/ops.hpp"
#include "base/error.hpp"

namespace assay {
namespace {

using Inputs = std::vector<Variable>;

enum class Kind { truth, int32, int64, number, int32s, int64s };

struct Rule {
  const char* name;
  Kind kind;
  bool required = true;
};

struct Operation {
  const char* name;
  std::size_t least, most;  // inputs
  std::vector<Rule> attributes;
  Variable (*apply)(const Inputs& in, const Attributes& attributes);
};

template <class T>
T value(const Attributes& attributes, const char* name) {
  return std::get<T>(attributes.at(name));
}

std::int64_t integer(const Attributes& attributes, const char* name) { return value<std::int64_t>(attributes, name); }
int narrow(const Attributes& attributes, const char* name) { return static_cast<int>(integer(attributes, name)); }

double number(const Attributes& attributes, const char* name) {
  return std::visit(
      [](const auto& held) -> double {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) return static_cast<double>(held);
        return 0;
      },
      attributes.at(name));
}

std::vector<int> axes(const Attributes& attributes) {
  const auto list = value<std::vector<std::int64_t>>(attributes, "axes");
  return {list.begin(), list.end()};
}

std::optional<std::int64_t> count(const Attributes& attributes) {
  return attributes.contains("count") ? std::optional(integer(attributes, "count")) : std::nullopt;
}

AttentionOptions attention_options(const Attributes& attributes) {
  return {.heads = integer(attributes, "heads"),
          .p = attributes.contains("p") ? number(attributes, "p") : 0,
          .materialised = attributes.contains("materialised") && value<bool>(attributes, "materialised")};
}

CrossEntropyOptions cross_entropy_options(const Attributes& attributes) {
  CrossEntropyOptions options{.count = count(attributes)};
  if (attributes.contains("label_smoothing")) options.label_smoothing = number(attributes, "label_smoothing");
  if (attributes.contains("ignore_index")) options.ignore_index = narrow(attributes, "ignore_index");
  return options;
}

/// The matrix of nf4_linear, whose inputs 1 to 3 are its codes, scale codes and scales.
Nf4 packed(const Inputs& in, const Attributes& attributes) {
  const std::int64_t out = integer(attributes, "out");
  if (in[0].shape().rank() < 1 || out < 1)
    throw Error("LAYER-1", "nf4_linear", "rows […, in] and at least 1 as out",
                to_string(in[0].shape()) + " and " + std::to_string(out));
  Nf4 weight{{out, in[0].shape()[-1]}, integer(attributes, "block"), in[1].value(), in[2].value(), in[3].value()};
  kernels::require_valid(weight, "nf4_linear");
  return weight;
}

const std::vector<Operation>& operations() {
  using In = const Inputs&;
  using At = const Attributes&;
  static const std::vector<Operation> table = {
      {"add", 2, 2, {}, [](In in, At) { return add(in[0], in[1]); }},
      {"attention",
       3,
       4,
       {{"heads", Kind::int64}, {"materialised", Kind::truth, false}, {"p", Kind::number, false}},
       [](In in, At a) {
         return attention(in[0], in[1], in[2], in.size() > 3 ? in[3].value() : Tensor(), attention_options(a));
       }},
      {"cross_entropy",
       2,
       2,
       {{"count", Kind::int64, false}, {"ignore_index", Kind::int32, false}, {"label_smoothing", Kind::number, false}},
       [](In in, At a) { return cross_entropy(in[0], in[1].value(), cross_entropy_options(a)); }},
      {"divide", 2, 2, {}, [](In in, At) { return divide(in[0], in[1]); }},
      {"dropout",
       2,
       2,
       {{"p", Kind::number}},
       [](In in, At a) { return dropout(in[0], in[1].value(), number(a, "p")); }},
      {"embedding", 2, 2, {}, [](In in, At) { return embedding(in[0], in[1].value()); }},
      {"exp", 1, 1, {}, [](In in, At) { return exp(in[0]); }},
      {"gelu", 1, 1, {}, [](In in, At) { return gelu(in[0]); }},
      {"layer_norm",
       3,
       3,
       {{"epsilon", Kind::number}},
       [](In in, At a) { return layer_norm(in[0], in[1], in[2], number(a, "epsilon")); }},
      {"linear",
       2,
       3,
       {{"relu", Kind::truth, false}},
       [](In in, At a) {
         return linear(in[0], in[1], in.size() > 2 ? in[2] : Variable(),
                       {.relu = a.contains("relu") && value<bool>(a, "relu")});
       }},
      {"log", 1, 1, {}, [](In in, At) { return log(in[0]); }},
      {"log_softmax", 1, 1, {}, [](In in, At) { return log_softmax(in[0]); }},
      {"matmul", 2, 2, {}, [](In in, At) { return matmul(in[0], in[1]); }},
      {"maximum", 1, 1, {{"axis", Kind::int32}}, [](In in, At a) { return maximum(in[0], narrow(a, "axis")); }},
      {"mean",
       1,
       1,
       {{"axes", Kind::int32s, false}},
       [](In in, At a) { return a.contains("axes") ? mean(in[0], axes(a)) : mean(in[0]); }},
      {"mean_squared_error",
       2,
       2,
       {{"count", Kind::int64, false}},
       [](In in, At a) { return mean_squared_error(in[0], in[1], count(a)); }},
      {"multiply", 2, 2, {}, [](In in, At) { return multiply(in[0], in[1]); }},
      {"nf4_linear",
       4,
       5,
       {{"block", Kind::int64}, {"out", Kind::int64}},
       [](In in, At a) { return nf4_linear(in[0], packed(in, a), in.size() > 4 ? in[4] : Variable()); }},
      {"relu", 1, 1, {}, [](In in, At) { return relu(in[0]); }},
      {"reshape",
       1,
       1,
       {{"shape", Kind::int64s}},
       [](In in, At a) { return reshape(in[0], Shape(value<std::vector<std::int64_t>>(a, "shape"))); }},
      {"sigmoid", 1, 1, {}, [](In in, At) { return sigmoid(in[0]); }},
      {"slice",
       1,
       1,
       {{"axis", Kind::int32}, {"begin", Kind::int64}, {"end", Kind::int64}},
       [](In in, At a) { return slice(in[0], narrow(a, "axis"), integer(a, "begin"), integer(a, "end")); }},
      {"softmax", 1, 1, {}, [](In in, At) { return softmax(in[0]); }},
      {"subtract", 2, 2, {}, [](In in, At) { return subtract(in[0], in[1]); }},
      {"sum",
       1,
       1,
       {{"axes", Kind::int32s, false}},
       [](In in, At a) { return a.contains("axes") ? sum(in[0], axes(a)) : sum(in[0]); }},
      {"tanh", 1, 1, {}, [](In in, At) { return tanh(in[0]); }},
      {"transpose",
       1,
       1,
       {{"axis_a", Kind::int32}, {"axis_b", Kind::int32}},
       [](In in, At a) { return transpose(in[0], narrow(a, "axis_a"), narrow(a, "axis_b")); }},
  };
  return table;
}

const Operation* find(const std::string& name) {
  for (const Operation& operation : operations())
    if (operation.name == name) return &operation;
  return nullptr;
}

bool fits_int32(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

bool is_of(Kind kind, const Attribute& attribute) {
  const auto* whole = std::get_if<std::int64_t>(&attribute);
  const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
  switch (kind) {
    case Kind::truth:
      return std::holds_alternative<bool>(attribute);
    case Kind::int32:
      return whole && fits_int32(*whole);
    case Kind::int64:
      return whole;
    case Kind::number:
      return whole || std::holds_alternative<double>(attribute);
    case Kind::int32s:
      return list && std::all_of(list->begin(), list->end(), fits_int32);
    case Kind::int64s:
      return list;
  }
  return false;
}

const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::truth:
      return "true or false";
    case Kind::int32:
      return "a whole number of 32 bits";
    case Kind::int64:
      return "a whole number";
    case Kind::number:
      return "a number";
    case Kind::int32s:
      return "a list of whole numbers of 32 bits";
    case Kind::int64s:
      return "a list of whole numbers";
  }
  return "";
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

[[noreturn]] void fail(const std::string& where, const std::string& expected, const std::string& found) {
  throw Error("FILE-3", "read " + where, expected, found);
}

}  // namespace

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const Operation& operation : operations()) names.emplace_back(operation.name);
  return names;
}

void require_call(const std::string& where, const OperationCall& call) {
  const Operation* operation = find(call.operation);
  if (!operation) fail(where, "one of " + listed(operation_names()), "\"" + call.operation + "\"");
  if (const std::size_t inputs = call.inputs.size(); inputs < operation->least || inputs > operation->most)
    fail(where,
         std::to_string(operation->least) +
             (operation->most > operation->least ? " or " + std::to_string(operation->most) : "") + " inputs of " +
             call.operation,
         std::to_string(inputs));
  std::vector<std::string> known;
  for (const Rule& rule : operation->attributes) {
    known.emplace_back(rule.name);
    const auto found = call.attributes.find(rule.name);
    const std::string expected = std::string(kind_text(rule.kind)) + " as " + rule.name + " of " + call.operation;
    if (found == call.attributes.end() ? rule.required : !is_of(rule.kind, found->second))
      fail(where, expected, found == call.attributes.end() ? "none" : "another value");
  }
  for (const auto& [name, attribute] : call.attributes)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(where, known.empty() ? "no attribute of " + call.operation : listed(known) + " of " + call.operation,
           "\"" + name + "\"");
}

Variable apply_operation(const OperationCall& call, const std::vector<Variable>& inputs) {
  return find(call.operation)->apply(inputs, call.attributes);
}

}  // namespace assay
