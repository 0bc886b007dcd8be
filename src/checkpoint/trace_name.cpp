// Writing and reading the names of traced results.
#include "checkpoint/trace_name.hpp"

#include <charconv>
#include <string_view>

#include "base/error.hpp"

namespace assay {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error("FILE-3", "name of a traced result", "a name like backward/fc1/linear:1", "\"" + text + "\"");
}

/// What stands before `mark`, which is then passed over.
std::string take(std::string_view& rest, char mark, const std::string& text) {
  const std::size_t end = rest.find(mark);
  if (end == std::string_view::npos) refuse(text);
  const std::string part(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return part;
}

template <class Number>
Number number_of(std::string_view digits, const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < Number{}) refuse(text);
  return number;
}

/// The number behind `mark` at the end, which is then cut off; `otherwise` where there is none.
template <class Number>
Number take_number(std::string_view& rest, char mark, Number otherwise, const std::string& text) {
  const std::size_t at = rest.find(mark);
  if (at == std::string_view::npos) return otherwise;
  const std::string_view digits = rest.substr(at + 1);
  rest = rest.substr(0, at);
  return number_of<Number>(digits, text);
}

}  // namespace

std::string TraceName::text() const {
  std::string name;
  if (shard > 0) name.append("shard.").append(std::to_string(shard)).append("/");
  name.append(phase).append("/").append(module).append("/").append(operation);
  if (operand >= 0) name.append(":").append(std::to_string(operand));
  if (occurrence > 1) name.append("#").append(std::to_string(occurrence));
  return name;
}

TraceName TraceName::parse(const std::string& text) {
  TraceName name;
  std::string_view rest = text;
  if (rest.starts_with("shard.")) {
    rest.remove_prefix(6);
    name.shard = number_of<std::size_t>(take(rest, '/', text), text);
  }
  name.phase = take(rest, '/', text);
  name.module = take(rest, '/', text);
  name.occurrence = take_number<std::size_t>(rest, '#', 1, text);
  name.operand = take_number(rest, ':', -1, text);
  name.operation = rest;
  if (name.phase.empty() || name.operation.empty() || rest.find('/') != std::string_view::npos) refuse(text);
  return name;
}

}  // namespace assay
