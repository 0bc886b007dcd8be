// Fully connected layers, registered in the order in which they are applied.
#include "models/mlp.hpp"

#include "base/error.hpp"

namespace assay {

Mlp::Mlp(const std::vector<std::int64_t>& widths, Activation activation, double p, const Random& random)
    : activation_(activation) {
  if (widths.size() < 2)
    throw Error("LAYER-1", "Mlp", "at least two widths, in and out", std::to_string(widths.size()));
  for (std::size_t layer = 1; layer < widths.size(); ++layer) {
    std::string number = std::to_string(layer);
    layers_.push_back(std::make_shared<Linear>(widths[layer - 1], widths[layer], random["fc" + number]));
    register_module("fc" + number, layers_.back());
    if (p == 0 || layer + 1 == widths.size()) continue;
    dropouts_.push_back(std::make_shared<Dropout>(p, random["dropout" + number]));
    register_module("dropout" + number, dropouts_.back());
  }
}

Variable Mlp::forward(const Variable& x) const {
  ForwardScope scope(*this);
  Variable y = x;
  for (std::size_t layer = 0; layer + 1 < layers_.size(); ++layer) {
    y = activated(activation_, *layers_[layer], y);
    if (!dropouts_.empty()) y = dropouts_[layer]->forward(y);
  }
  return layers_.back()->forward(y);
}

std::vector<std::string> Mlp::mask_names() const {
  std::vector<std::string> names;
  for (const auto& dropout : dropouts_) names.push_back(dropout->stream_name());
  return names;
}

}  // namespace assay
