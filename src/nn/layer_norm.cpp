// The parameters of a layer normalisation.
#include "nn/layer_norm.hpp"

#include "base/error.hpp"
#include "base/sabotage.hpp"

namespace assay {
namespace {

Shape norm_shape(std::int64_t width) {
  if (width < 1) throw Error("LAYER-3", "LayerNorm", "a width of at least 1", std::to_string(width));
  return {width};
}

}  // namespace

LayerNorm::LayerNorm(std::int64_t width)
    : scale_(Tensor::full(norm_shape(width), sabotaged("norm_starts_at_0") ? 0 : 1)), bias_(Tensor::zeros({width})) {
  register_parameter("scale", scale_);
  register_parameter("bias", bias_);
}

Variable LayerNorm::forward(const Variable& x) const {
  ForwardScope scope(*this);
  return layer_norm(x, scale_.variable(), bias_.variable(), 1e-5);
}

}  // namespace assay
