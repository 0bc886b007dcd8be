// Choosing linear layers, and the digest of what adapters stand on.
#include "models/linears.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/digest.hpp"
#include "numerics/set_digest.hpp"

namespace assay {

std::vector<NamedLinear> linears_of(const Module& model) {
  std::vector<NamedLinear> all;
  for (const auto& [name, module] : model.modules())
    if (auto* linear = dynamic_cast<Linear*>(module)) all.push_back({name, linear});
  return all;
}

std::vector<NamedLinear> linears_named(const Module& model, const std::vector<std::string>& names,
                                       const std::string& operation, const char* id) {
  std::vector<NamedLinear> chosen;
  std::vector<bool> used(names.size());
  for (const NamedLinear& entry : linears_of(model)) {
    bool is_chosen = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (entry.name != names[i] && !entry.name.ends_with("." + names[i])) continue;
      is_chosen = used[i] = true;
    }
    if (is_chosen) chosen.push_back(entry);
  }
  if (names.empty()) throw Error(id, operation, "the name of a linear layer", "none");
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!used[i]) throw Error(id, operation, "a linear layer named \"" + names[i] + "\"", "none");
  return chosen;
}

std::vector<NamedLinear> listed_linears(const Module& model, const std::vector<std::string>& names,
                                        const std::string& where, const char* id) {
  std::vector<NamedLinear> listed;
  const std::vector<NamedLinear> all = linears_of(model);
  for (const std::string& name : names) {
    auto is_it = [&](const NamedLinear& entry) { return entry.name == name; };
    const auto found = std::find_if(all.begin(), all.end(), is_it);
    if (found == all.end()) throw Error(id, where, "a linear layer named \"" + name + "\" in the model", "none");
    if (std::any_of(listed.begin(), listed.end(), is_it))
      throw Error(id, where, "each layer once", "\"" + name + "\" twice");
    listed.push_back(*found);
  }
  return listed;
}

std::string base_digest(const Module& model) {
  std::vector<DigestedTensor> set;
  auto add = [&](const std::string& name, const Tensor& value) {
    const Tensor narrow = value.dtype() == Dtype::float64 ? value.to(cpu) : value;
    set.push_back({name, name_of(narrow.dtype()), narrow.shape().extents(), kernels::digest(narrow)});
  };
  for (const NamedParameter& entry : model.parameters()) add(entry.name, entry.parameter->value());
  for (const auto& [name, linear] : linears_of(model)) {
    if (linear->adapter() && linear->adapter()->before_merge.defined())
      throw Error("LORA-5", "digest of a base", "no merged adapter", "that of \"" + name + "\"");
    if (!linear->packed()) continue;
    add(name + ".codes", linear->packed()->codes);
    add(name + ".scale_codes", linear->packed()->scale_codes);
    add(name + ".scales", linear->packed()->scales);
  }
  return digest_of_set(set);
}

}  // namespace assay
