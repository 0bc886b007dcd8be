// Adapters of a whole model as transactions, and their files.
#include "models/adapter.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "checkpoint/sealed_file.hpp"
#include "kernels/add.hpp"
#include "kernels/finite.hpp"
#include "kernels/subtract.hpp"
#include "models/linears.hpp"
#include "models/stored_tensor.hpp"

namespace assay {
namespace {

constexpr const char* format = "assay-adapters";
constexpr std::uint64_t format_version = 1;

using Adapters = std::vector<std::unique_ptr<LowRankAdapter>>;

std::vector<NamedLinear> adapted_linears(const Module& model) {
  std::vector<NamedLinear> adapted;
  for (const NamedLinear& entry : linears_of(model))
    if (entry.linear->adapter()) adapted.push_back(entry);
  return adapted;
}

void require_none(const NamedLinear& entry, const std::string& operation) {
  if (entry.linear->adapter())
    throw Error("LORA-3", operation, "\"" + entry.name + "\" without an adapter", "one that has it");
}

void install(const std::vector<NamedLinear>& linears, Adapters adapters) {
  for (std::size_t i = 0; i < linears.size(); ++i) linears[i].linear->attach(std::move(adapters[i]));
}

/// The scope "NAME.adapter" of a seed.
Random scope_of(const std::string& name, std::uint64_t seed) {
  Random scope(seed);
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    scope = scope[name.substr(begin, end - begin)];
    begin = end + 1;
  }
  return scope["adapter"];
}

}  // namespace

void attach_adapters(Module& model, const std::vector<std::string>& names, const LowRankOptions& options,
                     std::uint64_t seed) {
  const std::vector<NamedLinear> linears = linears_named(model, names, "attach_adapters", "LORA-3");
  Adapters adapters;
  for (const NamedLinear& entry : linears) {
    require_none(entry, "attach_adapters");
    const std::string& scope = sabotaged("adapters_share_a_stream") ? linears[0].name : entry.name;
    adapters.push_back(std::make_unique<LowRankAdapter>(entry.linear->in(), entry.linear->out(), options,
                                                        scope_of(scope, seed), entry.linear->device()));
    if (sabotaged("adapters_attach_one_by_one")) entry.linear->attach(std::move(adapters.back()));
  }
  if (!sabotaged("adapters_attach_one_by_one")) install(linears, std::move(adapters));
}

ParameterList lora_parameters(const Module& model) {
  ParameterList list;
  for (const auto& [name, linear] : adapted_linears(model)) {
    list.push_back({name + ".adapter.down", linear->adapter()->down.handle()});
    list.push_back({name + ".adapter.up", linear->adapter()->up.handle()});
  }
  return list;
}

void merge(Module& model) {
  const std::vector<NamedLinear> linears = adapted_linears(model);
  if (linears.empty()) throw Error("LORA-5", "merge", "a model with adapters", "none");
  std::vector<Tensor> merged;
  for (const auto& [name, linear] : linears) {
    const LowRankAdapter& adapter = *linear->adapter();
    const std::string operation = "merge \"" + name + "\"";
    if (adapter.before_merge.defined())
      throw Error("LORA-5", operation, "an adapter beside the weight", "a merged one");
    if (linear->packed()) throw Error("LORA-5", operation, "a dense weight", "codes of 4 bits");
    merged.push_back(adapter.merged_with(linear->weight().value()).keep());
    merged.back().succeed(linear->weight().value());
    if (!kernels::finite(merged.back()) && !sabotaged("merge_takes_infinities"))
      throw Error("LORA-5", operation, "finite weights", "others");
    if (sabotaged("merge_writes_as_it_computes")) linear->weight().replace_value(merged.back());
  }
  for (std::size_t i = 0; i < linears.size(); ++i) {
    Parameter& weight = linears[i].linear->weight();
    linears[i].linear->adapter()->before_merge = weight.value();
    weight.replace_value(std::move(merged[i]));
  }
}

void unmerge(Module& model) {
  const std::vector<NamedLinear> linears = adapted_linears(model);
  if (linears.empty()) throw Error("LORA-5", "unmerge", "a model with adapters", "none");
  for (const auto& [name, linear] : linears)
    if (!linear->adapter()->before_merge.defined())
      throw Error("LORA-5", "unmerge \"" + name + "\"", "a merged adapter", "one beside the weight");
  for (const auto& [name, linear] : linears) {
    Tensor before = std::exchange(linear->adapter()->before_merge, {});
    const Tensor merged = linear->weight().value();
    if (sabotaged("unmerging_subtracts")) before = kernels::add(merged, kernels::subtract(before, merged));
    before.succeed(merged);
    linear->weight().replace_value(std::move(before));
  }
}

void save_adapters(const std::string& path, const Module& model) {
  const std::vector<NamedLinear> linears = adapted_linears(model);
  if (linears.empty()) throw Error("LORA-6", "save " + path, "a model with adapters", "none");
  const std::string base = base_digest(model);
  write_sealed(path, [&](hdf5::Group& root) {
    write_format(root, format, format_version);
    root.set("base", base);
    std::vector<std::string> names;
    hdf5::Group layers = root.create_group("layers");
    for (const auto& [name, linear] : linears) {
      names.push_back(name);
      hdf5::Group layer = layers.create_group(name);
      layer.set("alpha", linear->adapter()->alpha());
      layer.write("down", stored<float>(linear->adapter()->down.value()));
      layer.write("up", stored<float>(linear->adapter()->up.value()));
    }
    root.write_strings("names", names);
  });
}

void load_adapters(const std::string& path, Module& model) {
  const SealedFile file = open_format(path, format, format_version);
  const std::string base = base_digest(model), trained_on = file.root.get_string("base");
  if (base != trained_on && !sabotaged("adapters_fit_any_base"))
    throw Error("LORA-6", path, "adapters of the base with digest " + base, "of " + trained_on);
  const hdf5::Group layers = file.root.group("layers");
  const std::vector<NamedLinear> linears =
      listed_linears(model, file.root.read_strings("names"), "load " + path, "LORA-6");
  Adapters adapters;
  for (const NamedLinear& entry : linears) {
    require_none(entry, "load " + path);
    const hdf5::Group layer = layers.group(entry.name);
    const Linear& linear = *entry.linear;
    adapters.push_back(std::make_unique<LowRankAdapter>(linear.in(), linear.out(), layer.get_double("alpha"),
                                                        read_tensor<float>(layer, "down", linear.device()),
                                                        read_tensor<float>(layer, "up", linear.device())));
  }
  install(linears, std::move(adapters));
}

}  // namespace assay
