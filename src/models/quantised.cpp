// Packing weights as one transaction, and their files.
#include "models/quantised.hpp"

#include "base/error.hpp"
#include "checkpoint/sealed_file.hpp"
#include "models/linears.hpp"
#include "models/stored_tensor.hpp"

namespace assay {
namespace {

constexpr const char* nf4_format = "assay-nf4";
constexpr std::uint64_t nf4_format_version = 1;

// All or none: what was packed before one is refused becomes dense again, with the parameter that it had.
void install(const std::vector<NamedLinear>& linears, std::vector<Nf4> packed) {
  std::vector<Parameter> dense;
  dense.reserve(linears.size());
  try {
    for (std::size_t i = 0; i < linears.size(); ++i) dense.push_back(linears[i].linear->pack_weight(packed[i]));
  } catch (const Error& error) {
    const std::string name = linears[dense.size()].name;
    for (; !dense.empty() && !sabotaged("quantising_stops_half_way"); dense.pop_back())
      linears[dense.size() - 1].linear->unpack_weight(std::move(dense.back()));
    throw Error(error.id(), "quantise \"" + name + "\", " + error.operation(), error.expected(), error.found());
  }
}

}  // namespace

void quantise(Module& model, const std::vector<std::string>& names, const Nf4Options& options) {
  const std::vector<NamedLinear> linears = linears_named(model, names, "quantise", "NF4-4");
  std::vector<Nf4> packed;
  for (const auto& [name, linear] : linears) packed.push_back(kernels::quantise(linear->weight().value(), options));
  install(linears, std::move(packed));
}

void dequantise(Module& model, const std::vector<std::string>& names) {
  const std::vector<NamedLinear> linears = linears_named(model, names, "dequantise", "NF4-4");
  std::vector<Parameter> dense;
  for (const auto& [name, linear] : linears) {
    if (!linear->packed()) throw Error("NF4-4", "dequantise \"" + name + "\"", "codes of 4 bits", "a dense weight");
    dense.emplace_back(kernels::dequantise(*linear->packed()));
  }
  for (std::size_t i = 0; i < linears.size(); ++i) linears[i].linear->unpack_weight(std::move(dense[i]));
}

void save_packed(const std::string& path, const Module& model) {
  std::vector<std::string> names;
  for (const auto& [name, linear] : linears_of(model))
    if (linear->packed()) names.push_back(name);
  if (names.empty()) throw Error("NF4-4", "save " + path, "a model with packed layers", "none");
  write_sealed(path, [&](hdf5::Group& root) {
    write_format(root, nf4_format, nf4_format_version);
    root.write_strings("names", names);
    hdf5::Group layers = root.create_group("layers");
    for (const auto& [name, linear] : linears_of(model)) {
      if (!linear->packed()) continue;
      const Nf4& packed = *linear->packed();
      hdf5::Group layer = layers.create_group(name);
      layer.set("rows", packed.shape[0]);
      layer.set("columns", packed.shape[1]);
      layer.set("block", packed.block);
      layer.write("codes", stored<std::uint8_t>(packed.codes));
      layer.write("scale_codes", stored<std::uint8_t>(packed.scale_codes));
      layer.write("scales", stored<float>(packed.scales));
    }
  });
}

void load_packed(const std::string& path, Module& model) {
  const SealedFile file = open_format(path, nf4_format, nf4_format_version);
  const hdf5::Group layers = file.root.group("layers");
  const std::vector<NamedLinear> linears =
      listed_linears(model, file.root.read_strings("names"), "load " + path, "NF4-4");
  std::vector<Nf4> all;
  for (const auto& [name, linear] : linears) {
    const hdf5::Group layer = layers.group(name);
    const Device device = linear->device();
    const auto count = [&](const char* field) { return static_cast<std::int64_t>(layer.get_count(field)); };
    Nf4 packed{{count("rows"), count("columns")},
               count("block"),
               read_tensor<std::uint8_t>(layer, "codes", device),
               read_tensor<std::uint8_t>(layer, "scale_codes", device),
               read_tensor<float>(layer, "scales", device)};
    kernels::require_valid(packed, path + ": \"" + name + "\"");
    if (sabotaged("packed_files_are_quantised_again"))
      packed = kernels::quantise(kernels::dequantise(packed), {.block = packed.block});
    all.push_back(packed);
  }
  install(linears, std::move(all));
}

}  // namespace assay
