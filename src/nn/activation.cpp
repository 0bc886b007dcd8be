// Activations by name, and behind a layer.
#include "nn/activation.hpp"

#include "autograd/ops.hpp"
#include "base/error.hpp"

namespace assay {

Activation parse_activation(const std::string& name) {
  if (name == "relu") return Activation::relu;
  if (name == "gelu") return Activation::gelu;
  if (name == "tanh") return Activation::tanh;
  if (name == "sigmoid") return Activation::sigmoid;
  throw Error("LAYER-3", "activation", "relu, gelu, tanh or sigmoid", "\"" + name + "\"");
}

Variable activated(Activation activation, const Linear& layer, const Variable& x) {
  switch (activation) {
    case Activation::relu:
      return layer.forward(x, {.relu = true});
    case Activation::gelu:
      return gelu(layer.forward(x));
    case Activation::tanh:
      return tanh(layer.forward(x));
    default:
      return sigmoid(layer.forward(x));
  }
}

}  // namespace assay
