// The activations that a layer may have behind it.
#pragma once

#include <string>

#include "nn/linear.hpp"

namespace assay {

enum class Activation { relu, gelu, tanh, sigmoid };

/// Errors: LAYER-3 for an unknown name, with the known ones.
Activation parse_activation(const std::string& name);

/// activation(layer(x)); a relu in the layer's own pass over memory.
Variable activated(Activation activation, const Linear& layer, const Variable& x);

}  // namespace assay
