// Modules for tests: one whose registration a test can drive, and what a refused call must leave alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/module.hpp"
#include "support/tensors.hpp"

namespace assay::test {

class Open final : public Module {
 public:
  using Module::deactivate_parameter;
  using Module::reactivate_parameter;
  using Module::register_module;
  using Module::register_parameter;
  using Module::tie_parameter;
};

/// A parameter of that many zeros.
inline Parameter zeros(Device device, std::int64_t size = 1) { return Parameter(Tensor::zeros({size}, device)); }

using Names = std::vector<std::string>;

inline Names names_of(const Module& module) {
  Names names;
  for (const NamedParameter& entry : module.parameters()) names.push_back(entry.name);
  return names;
}

inline std::vector<std::pair<std::string, const Parameter*>> listed(const Module& module) {
  std::vector<std::pair<std::string, const Parameter*>> all;
  for (const NamedParameter& entry : module.parameters()) all.emplace_back(entry.name, entry.parameter.get());
  return all;
}

/// Checks that the call is refused and that `root` lists what it did.
template <class Call>
void check_refused_and_unchanged(const Module& root, Call&& call, const std::string& id, const std::string& fragment) {
  auto before = listed(root);
  check_refused(call, id, fragment);
  BOOST_TEST((listed(root) == before), "the tree changed although the call was refused: " << fragment);
}

}  // namespace assay::test
