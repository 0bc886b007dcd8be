// The norm of all gradients together, and clipping by it.
#include "optim/clip.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "kernels/squared_norm.hpp"

namespace assay {
namespace {

void require_limit(double max_norm) {
  if (!(max_norm > 0 && max_norm - max_norm == 0) && !sabotaged("clip_takes_any_limit"))
    throw Error("OPT-6", "clipping of gradients", "a finite norm above 0", std::to_string(max_norm));
}

kernels::Record record_for(const ParameterList& list) {
  require_valid(list, "gradient norm");
  const Device device = list.empty() ? cpu : list[0].parameter->value().device();
  return {device, static_cast<std::int64_t>(list.size())};
}

}  // namespace

GradientNorm::GradientNorm(const ParameterList& list, const Tensor& slots) : slots_(slots) {
  require_valid(list, "gradient norm");
  for (const NamedParameter& entry : list) {
    if (!entry.parameter->has_pending_gradient()) continue;
    pending_.push_back(entry);
    gradients_.push_back(entry.parameter->gradient());
    if (gradients_.back().device() != slots.device())
      throw Error("OPT-1", "gradient norm", "all gradients on " + to_string(slots.device()),
                  "\"" + entry.name + "\" on " + to_string(gradients_.back().device()));
  }
  if (!pending_.empty()) kernels::squared_norms(gradients_, slots_);
}

void GradientNorm::clip(double max_norm) {
  require_limit(max_norm);
  // New tensors, all prepared before the first is installed: a gradient may be shared with another leaf or its reader.
  std::vector<Tensor> clipped = kernels::scaled_to_norm(gradients_, slots_, max_norm);
  for (std::size_t i = 0; i < pending_.size(); ++i) pending_[i].parameter->set_gradient(std::move(clipped[i]));
}

double GradientNorm::value() const {
  if (pending_.empty()) return 0;
  const auto squares = slots_.read<std::uint64_t>();
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const auto sum = std::bit_cast<double>(squares[static_cast<std::int64_t>(i)]);
    if (sum - sum != 0 && !sabotaged("norm_takes_nan"))
      throw Error("OPT-6", "gradient norm", "finite gradients", "that of \"" + pending_[i].name + "\" not finite");
  }
  return numerics::norm_of(squares.data(), pending_.size());
}

double global_gradient_norm(const ParameterList& list) { return GradientNorm(list, record_for(list).all()).value(); }

double clip_gradients(const ParameterList& list, double max_norm) {
  require_limit(max_norm);
  GradientNorm norm(list, record_for(list).all());
  const double value = norm.value();
  if (value > max_norm || (value == max_norm && sabotaged("clip_at_equality"))) norm.clip(max_norm);
  return value;
}

}  // namespace assay
