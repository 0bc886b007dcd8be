// Causal attention of several heads: an operation of its own (N5), not a softmax between two matrix products.
#pragma once

#include <array>

#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "numerics/arithmetic.hpp"
#include "reference/attention.hpp"

namespace assay::kernels {

/// How many heads there are, σ = binary32(1 ÷ √d), and what a weight that the mask keeps is multiplied by.
struct AttentionFactors {
  std::int64_t heads;
  float scale, kept;
};

/// Operands are q [B, Tq, H·d], k and v [B, Tk, H·d], rows of side by side elements; mask [B, H, Tq, Tk], or without
/// data. Results: output [B, Tq, H·d], most and sum [B, H, Tq], and where it has data
/// exponentials [B, H, Tk, Tq], of which a kernel reads again what it has written. All that is not strided is
/// contiguous. Tk >= Tq >= 1; query i is that of key Tk − Tq + i.
ASSAY_DECLARE_KERNEL(void attention(View<const float> q, View<const float> k, View<const float> v,
                                    View<const std::uint8_t> mask, AttentionFactors factors, View<float> output,
                                    View<float> most, View<float> sum, View<float> exponentials))
ASSAY_DECLARE_KERNEL(void attention_gradient(View<const float> q, View<const float> k, View<const float> v,
                                             View<const std::uint8_t> mask, AttentionFactors factors,
                                             View<const float> output, View<const float> most, View<const float> sum,
                                             View<const float> exponentials, View<const float> upstream,
                                             View<float> q_gradient, View<float> k_gradient, View<float> v_gradient))

/// What attention is given besides its operands: its heads, the probability behind the mask, and whether the
/// exponentials are kept for the gradient (materialised) or computed again (flash).
struct AttentionOptions {
  std::int64_t heads = 1;
  double p = 0;
  bool materialised = false;
};

/// The result, and what its gradient needs of the way there; on the reference device the result alone.
struct AttentionResult {
  Tensor output, most, sum, exponentials;
};

/// q, k and v as kernels take them. Errors: LAYER-3 and GRAPH-13 as assay::attention.
inline std::array<Tensor, 3> attention_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                                const AttentionOptions& options) {
  require_same_device("attention", q, k);
  require_same_device("attention", q, v);
  const bool fits = q.shape().rank() == 3 && k.shape() == v.shape() && k.shape().rank() == 3 &&
                    k.shape().with(1, 1) == q.shape().with(1, 1) && q.shape()[1] > 0 && k.shape()[1] >= q.shape()[1] &&
                    options.heads > 0 && q.shape()[2] > 0 && q.shape()[2] % options.heads == 0;
  if (!fits)
    throw Error("LAYER-3", "attention",
                "q [B, Tq, C] and k, v [B, Tk, C] with Tk >= Tq >= 1 and " + std::to_string(options.heads) +
                    " heads that divide C",
                to_string(q.shape()) + ", " + to_string(k.shape()) + " and " + to_string(v.shape()));
  if (!(options.p >= 0 && options.p < 1)) throw Error("MODE-3", "attention", "p in [0, 1)", std::to_string(options.p));
  if (mask.defined()) {
    require_same_device("attention", q, mask);
    const Shape weights{q.shape()[0], options.heads, q.shape()[1], k.shape()[1]};
    if (!(mask.shape() == weights))
      throw Error("LAYER-3", "attention", "a mask " + to_string(weights), to_string(mask.shape()));
  }
  auto in_rows = [](const Tensor& x) { return x.stride(2) == 1 ? x : contiguous(x); };
  return {in_rows(q), in_rows(k), in_rows(v)};
}

namespace attention_detail {

inline AttentionFactors factors(const Tensor& q, const AttentionOptions& options) {
  const auto width = static_cast<double>(q.shape()[2] / options.heads);
  return {options.heads, static_cast<float>(1 / numerics::square_root(width)), static_cast<float>(1 / (1 - options.p))};
}
inline View<const std::uint8_t> mask_operand(const Tensor& mask) {
  return mask.defined() ? operand(Mask{mask}) : View<const std::uint8_t>();
}
inline reference::Array mask_array(const Tensor& mask) {
  return mask.defined() ? oracle_operand(Mask{mask}) : reference::Array();
}

}  // namespace attention_detail

/// The formula stands at assay::attention. Errors: the same.
inline AttentionResult attention(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in, const Tensor& mask,
                                 const AttentionOptions& options) {
  const auto [q, k, v] = attention_operands(q_in, k_in, v_in, mask, options);
  const Device device = q.device();
  AttentionResult result{Tensor::uninitialised(q.shape(), device), {}, {}, {}};
  const auto kernel = ASSAY_KERNEL(attention);
  if (device == reference_device) {
    device_log::launch(device, kernel.name);
    result.output.write(reference::attention(array_of<double>(q), array_of<double>(k), array_of<double>(v),
                                             attention_detail::mask_array(mask), options.heads, options.p)
                            .values);
    return result;
  }
  const std::int64_t samples = q.shape()[0], queries = q.shape()[1], keys = k.shape()[1];
  result.most = Tensor::uninitialised({samples, options.heads, queries}, device);
  result.sum = Tensor::uninitialised({samples, options.heads, queries}, device);
  if (options.materialised)
    result.exponentials = Tensor::uninitialised({samples, options.heads, keys, queries}, device);
  launch(device, kernel, q, k, v, attention_detail::mask_operand(mask), attention_detail::factors(q, options),
         Out{result.output}, Out{result.most}, Out{result.sum},
         options.materialised ? operand(Out{result.exponentials}) : View<float>());
  return result;
}

/// The gradients by q, k and v.
inline std::vector<Tensor> attention_gradient(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                                              const Tensor& mask, const AttentionOptions& options,
                                              const AttentionResult& result, const Tensor& upstream) {
  const auto [q, k, v] = attention_operands(q_in, k_in, v_in, mask, options);
  const Device device = q.device();
  std::vector<Tensor> gradients;
  for (const Tensor* x : {&q, &k, &v}) gradients.push_back(Tensor::uninitialised(x->shape(), device));
  const auto kernel = ASSAY_KERNEL(attention_gradient);
  if (device == reference_device) {
    device_log::launch(device, kernel.name);
    const auto arrays = reference::attention_gradient(array_of<double>(q), array_of<double>(k), array_of<double>(v),
                                                      attention_detail::mask_array(mask), options.heads, options.p,
                                                      array_of<double>(contiguous(upstream)));
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i].write(arrays[i].values);
    return gradients;
  }
  launch(device, kernel, q, k, v, attention_detail::mask_operand(mask), attention_detail::factors(q, options),
         result.output, result.most, result.sum,
         options.materialised ? operand(result.exponentials) : View<const float>(), contiguous(upstream),
         Out{gradients[0]}, Out{gradients[1]}, Out{gradients[2]});
  return gradients;
}

}  // namespace assay::kernels
