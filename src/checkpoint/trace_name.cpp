// Writing and reading the names of traced results.
#include "checkpoint/trace_name.hpp"

#include <charconv>
#include <regex>

#include "base/error.hpp"

namespace assay {
namespace {

template <class Number>
Number number_in(const std::string& text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
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
  static const std::regex form(R"((?:shard\.(\d{1,9})/)?(\w+)/([^/]*)/([^/:#]+)(?::(\d{1,4}))?(?:#(\d{1,9}))?)");
  std::smatch part;
  if (text.size() > 1000 || !std::regex_match(text, part, form))
    throw Error("FILE-3", "name of a traced result", "a name like backward/fc1/linear:1", "\"" + text + "\"");
  TraceName name{part[2], part[3], part[4]};
  if (part[1].matched) name.shard = number_in<std::size_t>(part[1]);
  if (part[5].matched) name.operand = number_in<int>(part[5]);
  if (part[6].matched) name.occurrence = number_in<std::size_t>(part[6]);
  return name;
}

}  // namespace assay
