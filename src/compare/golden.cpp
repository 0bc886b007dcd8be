// Reading golden files and running their records.
#include "compare/golden.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "checkpoint/sealed_file.hpp"
#include "compare/values.hpp"
#include "device/pass.hpp"

namespace assay {
namespace {

using SortedJson = nlohmann::json;

[[noreturn]] void fail(const std::string& where, const std::string& expected, const std::string& found) {
  throw Error("FILE-3", "read " + where, expected, found);
}

std::string short_dump(const SortedJson& json) {
  const std::string text = json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
  return text.size() > 80 ? text.substr(0, 80) + "…" : text;
}

std::string text_of(const std::string& where, const SortedJson& json) {
  if (!json.is_string() || json.get<std::string>().empty()) fail(where, "a name", short_dump(json));
  return json.get<std::string>();
}

std::int64_t integer_of(const std::string& where, const SortedJson& json) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() >> 63))
    fail(where, "a whole number of 64 bits", short_dump(json));
  return json.get<std::int64_t>();
}

Attribute attribute_of(const std::string& where, const SortedJson& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (!json.is_array()) return integer_of(where, json);
  std::vector<std::int64_t> list;
  for (const SortedJson& entry : json) list.push_back(integer_of(where, entry));
  return list;
}

/// A call as `{"operation": …, "inputs": […], "attributes": {…}, "output": …}`.
OperationCall call_of(const std::string& where, const SortedJson& json) {
  static const std::vector<std::string> keys{"attributes", "inputs", "operation", "output"};
  std::vector<std::string> found;
  if (json.is_object())
    for (const auto& [key, value] : json.items()) found.push_back(key);
  if (found != keys || !json["inputs"].is_array() || !json["attributes"].is_object())
    fail(where, "calls with operation, inputs (a list), attributes (an object) and output", short_dump(json));
  OperationCall call{text_of(where, json["operation"]), {}, {}, text_of(where, json["output"])};
  for (const SortedJson& input : json["inputs"]) call.inputs.push_back(text_of(where, input));
  for (const auto& [name, value] : json["attributes"].items()) call.attributes[name] = attribute_of(where, value);
  require_call(where, call);
  return call;
}

std::vector<OperationCall> calls_of(const std::string& where, const std::string& text) {
  const SortedJson json = SortedJson::parse(text, nullptr, false);
  if (!json.is_array()) fail(where, "a list of calls in JSON", short_dump(text));
  std::vector<OperationCall> calls;
  for (const SortedJson& call : json) calls.push_back(call_of(where, call));
  return calls;
}

Policy tolerance_of(const std::string& where, const std::string& text) {
  try {
    return parse_policy(text);
  } catch (const Error& error) {
    fail(where, error.expected(), error.found());
  }
}

std::vector<NamedArray> arrays_of(const hdf5::Group& group, const std::vector<ElementType>& types) {
  std::vector<NamedArray> arrays;
  for (const hdf5::Child& child : group.children()) {
    Array array = group.read(child.name);
    if (std::find(types.begin(), types.end(), array.type) == types.end()) {
      std::string names;
      for (ElementType type : types) names += (names.empty() ? "" : " or ") + std::string(element_name(type));
      fail(group.where() + "/" + child.name, names, element_name(array.type));
    }
    arrays.push_back({child.name, std::move(array)});
  }
  return arrays;
}

/// Every name is given before it is used and once only, and each expected one is the result of a call.
void require_names(const std::string& where, const GoldenRecord& record) {
  std::map<std::string, bool> computed;
  for (const NamedArray& input : record.inputs) computed[input.name] = false;
  for (const OperationCall& call : record.calls) {
    for (const std::string& name : call.inputs)
      if (!computed.contains(name)) fail(where, "an input or an earlier output", "\"" + name + "\"");
    if (!computed.emplace(call.output, true).second)
      fail(where, "another name for each input and output", "\"" + call.output + "\" twice");
  }
  for (const NamedArray& expected : record.expected)
    if (!computed.contains(expected.name) || !computed[expected.name])
      fail(where, "expected results that a call gives", "\"" + expected.name + "\"");
  if (record.expected.empty()) fail(where, "an expected result", "none");
}

GoldenRecord record_of(const hdf5::Group& group, const std::string& name) {
  GoldenRecord record;
  record.name = name;
  record.operation = group.get_string("operation");
  if (group.has("unsupported")) {
    record.unsupported = group.get_string("unsupported");
    if (record.unsupported.empty()) fail(group.where() + "/@unsupported", "a reason", "an empty text");
    return record;
  }
  record.calls = calls_of(group.where() + "/@calls", group.get_string("calls"));
  record.tolerance = tolerance_of(group.where() + "/@tolerance", group.get_string("tolerance"));
  record.inputs = arrays_of(group.group("inputs"), {ElementType::float32, ElementType::int32, ElementType::uint8});
  record.expected = arrays_of(group.group("expected"), {ElementType::float32});
  require_names(group.where(), record);
  return record;
}

Tensor tensor_of(const Array& array, Device device) {
  const Shape shape(array.shape);
  if (array.type == ElementType::int32) return Tensor::from(array.values<std::int32_t>(), shape, device);
  if (array.type == ElementType::uint8) return Tensor::from(array.values<std::uint8_t>(), shape, device);
  return Tensor::from(array.values<float>(), shape, device);
}

/// Widened, after one rounding to float32.
template <class T>
std::vector<double> rounded(const Tensor& tensor) {
  std::vector<double> values;
  for (const T value : tensor.read<T>()) values.push_back(static_cast<float>(value));
  return values;
}

GoldenResult failed(const std::string& reason) { return {GoldenResult::Verdict::failed, reason, {}}; }

GoldenResult judge(const NamedArray& expected, const Tensor& found, const Policy& tolerance) {
  if (found.shape().extents() != expected.array.shape)
    return failed(expected.name + ": expected shape " + shape_text(expected.array.shape) + ", found " +
                  to_string(found.shape()));
  if (found.dtype() != Dtype::float32 && found.dtype() != Dtype::float64)
    return failed(expected.name + ": expected real numbers, found another element type");
  const std::vector<float> values = expected.array.values<float>();
  const std::vector<double> a(values.begin(), values.end());
  const std::vector<double> b = found.dtype() == Dtype::float64 ? rounded<double>(found) : rounded<float>(found);
  const ValueDifference difference = compare_values(a, b, true, tolerance);
  if (difference.within()) return {};
  const ValueDifference::Element& element = *difference.refused;
  return {GoldenResult::Verdict::failed, "",
          GoldenResult::Difference{expected.name, index_text(expected.array.shape, element.index), element.a, element.b,
                                   element.ulp}};
}

}  // namespace

GoldenFile read_golden(const std::string& path) {
  const SealedFile file = open_format(path, "assay-golden", 1);
  GoldenFile golden{file.root.get_string("source"), {}};
  const hdf5::Group records = file.root.group("records");
  for (const hdf5::Child& child : records.children())
    golden.records.push_back(record_of(records.group(child.name), child.name));
  return golden;
}

GoldenResult run_record(const GoldenRecord& record, Device device) {
  require_usable(device);
  if (!record.unsupported.empty()) return {GoldenResult::Verdict::unsupported, record.unsupported, {}};
  const PassScope pass(record.name);
  std::map<std::string, Variable> values;
  try {
    for (const NamedArray& input : record.inputs) values[input.name] = tensor_of(input.array, device);
    for (const OperationCall& call : record.calls) {
      std::vector<Variable> inputs;
      for (const std::string& name : call.inputs) inputs.push_back(values.at(name));
      values[call.output] = apply_operation(call, inputs);
    }
  } catch (const Error& error) {
    return failed(error.what());
  }
  for (const NamedArray& expected : record.expected)
    if (GoldenResult result = judge(expected, values.at(expected.name).value(), record.tolerance);
        result.verdict != GoldenResult::Verdict::passed)
      return result;
  return {};
}

}  // namespace assay
