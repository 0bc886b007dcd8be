// The norm of all gradients together, and clipping by it.
#include "optim/clip.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/scale.hpp"
#include "kernels/squared_norm.hpp"
#include "numerics/scalar.hpp"

namespace assay {

double global_gradient_norm(const ParameterList& list) {
  require_valid(list, "gradient norm");
  double total = 0;
  for (const NamedParameter& entry : list) {
    if (!entry.parameter->has_pending_gradient()) continue;
    double squares = kernels::squared_norm(entry.parameter->gradient());
    if (sabotaged("norm_in_binary32")) squares = static_cast<float>(squares);
    if (squares - squares != 0 && !sabotaged("norm_takes_nan"))
      throw Error("OPT-6", "gradient norm", "finite gradients", "that of \"" + entry.name + "\" not finite");
    total += squares;
  }
  return numerics::square_root(total);
}

double clip_gradients(const ParameterList& list, double max_norm) {
  if (!(max_norm > 0 && max_norm - max_norm == 0) && !sabotaged("clip_takes_any_limit"))
    throw Error("OPT-6", "clip_gradients", "a finite norm above 0", std::to_string(max_norm));
  double norm = global_gradient_norm(list);
  if (norm < max_norm || (norm == max_norm && !sabotaged("clip_at_equality"))) return norm;
  // New tensors, all prepared before the first is installed: a gradient may be shared with another leaf or its reader.
  std::vector<std::pair<Parameter*, Tensor>> clipped;
  for (const NamedParameter& entry : list)
    if (entry.parameter->has_pending_gradient())
      clipped.emplace_back(entry.parameter.get(), kernels::scale(entry.parameter->gradient(), max_norm / norm));
  for (auto& [parameter, gradient] : clipped) parameter->set_gradient(std::move(gradient));
  return norm;
}

}  // namespace assay
