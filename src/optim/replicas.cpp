// Replicas: match by name, prepare, install.
#include "optim/replicas.hpp"

#include <map>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/copy.hpp"

namespace assay {

void copy_parameters(const ParameterList& from, const ParameterList& to) {
  require_valid(from, "copy_parameters, source");
  require_valid(to, "copy_parameters, target");
  std::map<std::string, ParameterHandle> sources;
  for (const NamedParameter& entry : from) sources[entry.name] = entry.parameter;
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto& [name, parameter] = to[i];
    auto source = sources.find(name);
    if (source == sources.end())
      throw Error("REPL-1", "copy_parameters", "\"" + name + "\" in the source", "no such parameter");
    const Tensor& old = parameter->value();
    const Tensor& value = sabotaged("copy_by_position") ? from[i].parameter->value() : source->second->value();
    auto description = [](const Tensor& t) { return std::string(name_of(t.dtype())) + " " + to_string(t.shape()); };
    if (description(old) != description(value))
      throw Error("REPL-1", "copy_parameters, \"" + name + "\"", description(old), description(value));
    values.push_back(value.device() == old.device() ? kernels::copy(value) : value.to(old.device()));
    if (sabotaged("copy_writes_as_it_looks")) parameter->replace_value(values.back());
    sources.erase(source);
  }
  if (!sources.empty() && !sabotaged("copy_ignores_extra_names"))
    throw Error("REPL-1", "copy_parameters", "\"" + sources.begin()->first + "\" in the target", "no such parameter");
  for (std::size_t i = 0; i < to.size(); ++i) to[i].parameter->replace_value(std::move(values[i]));
}

}  // namespace assay
