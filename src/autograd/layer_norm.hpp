// Layer normalisation and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/defects.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/sum.hpp"

namespace assay {

/// Layer normalisation over the last axis: x […, D], scale and bias [D], y […, D]. In each row (N5), with D and ε
/// rounded to binary32:
/// - m = lane(x) ÷ D, d = x − m, v = lane(d·d) ÷ D, each square added by fma; r = rsqrt(v + ε);
/// - n = d·r, y = fma(n, scale, bias).
///
/// Gradients, with the upstream gradient u, g = u·scale, a = lane(g) ÷ D and b = lane(g·n) ÷ D, its products by fma:
/// - by x r·((g − a) − n·b), each product rounded;
/// - by scale chain(u·n) over the rows, by fma; by bias chain(u) over the rows.
/// m and r are kept from the forward; n is computed again from x, with the same bits. A row that holds a NaN or an
/// infinity gives NaN (GRAPH-14), and a row whose squares overflow gives the bias.
/// Errors: LAYER-3 for other shapes, D = 0, or an ε that is not above 0 in binary32; GRAPH-13.
///
/// Source: J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer normalization" (2016).
///
///     layer_norm(x, scale, bias, 1e-5);  // [B, T, D], [D], [D] → [B, T, D]
inline Variable layer_norm(const Variable& x, const Variable& scale, const Variable& bias, double epsilon) {
  const Shape &in = x.shape(), &of_scale = scale.shape(), &of_bias = bias.shape();
  if (in.rank() < 1 || in[-1] == 0 || !(of_scale == Shape{in[-1]}) || !(of_bias == of_scale))
    throw Error("LAYER-3", "layer_norm", "shapes […, D], [D] and [D] with D > 0",
                to_string(in) + ", " + to_string(of_scale) + " and " + to_string(of_bias));
  if (!(static_cast<float>(epsilon) > 0))
    throw Error("LAYER-3", "layer_norm", "an epsilon above 0", std::to_string(epsilon));
  kernels::require_same_device("layer_norm", x.value(), scale.value());
  kernels::require_same_device("layer_norm", x.value(), bias.value());
  kernels::Normalised norm = kernels::layer_norm(x.value(), scale.value(), bias.value(), epsilon);
  if (sabotaged("variance_of_a_sample"))
    norm.y = kernels::defects::sample_norm(x.value(), scale.value(), bias.value(), epsilon);
  auto vjp = [x = x.value(), scale = scale.value(), statistics = norm.statistics](const Tensor& upstream,
                                                                                  const std::vector<bool>& needed) {
    std::vector<Tensor> gradients(3);
    if (needed[0]) gradients[0] = kernels::layer_norm_gradient(x, statistics, scale, upstream);
    if (needed[1]) gradients[1] = kernels::layer_norm_scale_gradient(x, statistics, upstream);
    if (needed[2]) gradients[2] = kernels::sum(kernels::rows_of(upstream), {0});
    return gradients;
  };
  return custom_gradient("layer_norm", norm.y, {x, scale, bias}, vjp);
}

}  // namespace assay
