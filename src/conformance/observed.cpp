// All that a caller can see, in words.
#include "conformance/observed.hpp"

#include <cstring>

namespace assay::conformance {
namespace {

void add_facts(Facts& facts, const std::string& name, const Tensor& value, bool pending, const Tensor& gradient) {
  facts.push_back(name + ", version " + std::to_string(value.version()) + ", " + bits_of(value));
  facts.push_back(name + (pending ? ", gradient " : ", no gradient pending ") + bits_of(gradient));
}

}  // namespace

std::string bits_of(const Tensor& tensor) {
  std::string text = std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape()) + " on " +
                     to_string(tensor.device()) + ":";
  with_type(tensor.dtype(), [&](auto zero) {
    for (auto element : tensor.read<decltype(zero)>()) {
      unsigned char bytes[sizeof element];
      std::memcpy(bytes, &element, sizeof element);
      text += ' ';
      for (unsigned char byte : bytes) text += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
    }
  });
  return text;
}

Facts facts_of(const ParameterList& list) {
  Facts facts;
  for (const auto& [name, parameter] : list)
    add_facts(facts, name, parameter->value(), parameter->has_pending_gradient(), parameter->gradient());
  return facts;
}

Facts facts_of(const std::vector<Variable>& leaves) {
  Facts facts;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    add_facts(facts, "input " + std::to_string(i), leaves[i].value(), leaves[i].has_pending_gradient(),
              leaves[i].requires_gradient() ? leaves[i].gradient() : leaves[i].value());
  return facts;
}

Facts facts_of(const Optimiser& optimiser) {
  Facts facts = facts_of(optimiser.parameters());
  const OptimiserState state = optimiser.state();
  facts.push_back(state.kind + ", step " + std::to_string(state.step_count));
  for (const auto& [name, tensor] : state.tensors)
    facts.push_back(name + ", version " + std::to_string(tensor.version()) + ", " + bits_of(tensor));
  return facts;
}

std::vector<std::uint64_t> live_bytes() {
  std::vector<std::uint64_t> bytes;
  for (Device device : all_devices) bytes.push_back(device_counters(device).live_bytes);
  return bytes;
}

std::vector<std::string> changes(const Observed& before, const Observed& now) {
  std::vector<std::string> found;
  if (before.facts.size() != now.facts.size())
    return {std::to_string(before.facts.size()) + " things could be seen, now " + std::to_string(now.facts.size())};
  for (std::size_t i = 0; i < before.facts.size(); ++i)
    if (before.facts[i] != now.facts[i]) found.push_back("was " + before.facts[i] + ", is " + now.facts[i]);
  for (std::size_t i = 0; i < before.live_bytes.size(); ++i)
    if (before.live_bytes[i] != now.live_bytes[i])
      found.push_back(to_string(all_devices[i]) + " held " + std::to_string(before.live_bytes[i]) + " bytes, holds " +
                      std::to_string(now.live_bytes[i]));
  return found;
}

void expect_unchanged(const Observed& before, const Observed& now, const std::string& after) {
  const std::vector<std::string> found = changes(before, now);
  if (!found.empty()) throw Broken(after + ": " + found.front());
}

}  // namespace assay::conformance
