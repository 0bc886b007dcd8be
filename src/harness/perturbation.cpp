// One ULP up or down, over the bits of each element.
#include "harness/perturbation.hpp"

#include <algorithm>
#include <bit>

#include "base/edit_distance.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "numerics/philox.hpp"
#include "numerics/random.hpp"

namespace assay {
namespace {

constexpr std::uint32_t sign = std::uint32_t{1} << 31;

float neighbour(float x, bool up) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t place = bits & sign ? ~bits : bits | sign;  // ascending with the value
  place += up || sabotaged("perturbed_upwards_only") ? 1u : ~0u;
  return std::bit_cast<float>(place & sign ? place & ~sign : ~place);
}

void require_known(const ParameterList& parameters, const Configuration& configuration) {
  const std::string& name = configuration.model.perturbed;
  std::string nearest = "all";
  for (const NamedParameter& entry : parameters) {
    if (entry.name == name) return;
    if (edit_distance(entry.name, name) < edit_distance(nearest, name)) nearest = entry.name;
  }
  throw Error("RUN-1", configuration.source + ": model.perturbed",
              "a parameter of the model, or all (the nearest is " + nearest + ")", "\"" + name + "\"");
}

}  // namespace

void perturb(const ParameterList& parameters, const Configuration& configuration) {
  const std::string& name = configuration.model.perturbed;
  if (name.empty()) return;
  if (name != "all") require_known(parameters, configuration);
  for (const NamedParameter& entry : parameters) {
    if (name != "all" && name != entry.name) continue;
    const auto seed = static_cast<std::uint64_t>(configuration.experiment.seed);
    const std::uint64_t key = stream_key(seed, "perturbation." + entry.name);
    const Tensor& value = entry.parameter->value();
    const Snapshot<float> before = value.read<float>();
    std::vector<float> after(before.span().begin(), before.span().end());
    for (std::size_t n = 0; n < after.size(); ++n) after[n] = neighbour(after[n], numerics::uniform(key, n, 0) < 0.5f);
    entry.parameter->set_value(Tensor::from(after, value.shape()));
  }
}

}  // namespace assay
