// Causal attention of several heads and its gradients.
#pragma once

#include "autograd/variable.hpp"
#include "kernels/attention.hpp"
#include "kernels/defects.hpp"

namespace assay {

using AttentionOptions = kernels::AttentionOptions;

/// Causal attention of H heads: q [B, Tq, C], k and v [B, Tk, C] → [B, Tq, C], head h being columns hd … hd + d − 1
/// with d = C ÷ H. The queries are those of the last Tq of Tk positions; query t sees keys 0 … t (N5):
/// - s_k = chain_j(q_tj, k_kj)·σ with σ = binary32(1 ÷ √d), m = max s_k, e_k = exp(s_k − m), D = chain_k(e_k);
/// - o_j = chain_k(e_k·u_k, v_kj) ÷ D, u_k being 0 or binary32(1 ÷ (1 − p)) as the mask (uint8 [B, H, Tq, Tk]) says,
///   without a mask 1. A key that is dropped takes part in the chain, one that is not seen does not.
///
/// Gradients, g_t the upstream gradient: p = e ÷ D, w = chain_j(g_tj, v_kj)·u, δ_t = chain_j(g_tj, o_tj),
/// z = p·(w − δ); by q chain_k(z_tk, k_kj)·σ over the keys seen, by k chain_t(z_tk, q_tj)·σ and by v
/// chain_t(p_tk·u_tk, g_tj) over the queries t >= k. Blocks of the chains are anchored at position 0.
///
/// With `materialised` the exponentials are kept for the gradient, [B, H, Tk, Tq]; else (flash) they are computed again
/// and memory grows with T only. Both forms, and one query at a time, give the same bits (NUM-9).
/// Errors: LAYER-3 for other shapes, heads that do not divide C, or a mask of another shape, MODE-3 for p, ACC-4 for a
/// mask of another type, GRAPH-13.
/// Source: A. Vaswani et al., "Attention is all you need" (2017); T. Dao et al., "FlashAttention" (2022).
///
///     attention(q, k, v, Tensor(), {.heads = 4});  // [B, T, 128] → [B, T, 128]
inline Variable attention(const Variable& q, const Variable& k, const Variable& v, const Tensor& mask,
                          const AttentionOptions& options) {
  auto result = kernels::attention(q.value(), k.value(), v.value(), mask, options);
  if (sabotaged("attention_sees_the_next_key"))
    result.output = kernels::defects::with_the_next_key(result.output, q.value(), k.value(), v.value(), mask, options);
  std::vector<Variable> inputs{q, k, v};
  if (mask.defined()) inputs.emplace_back(mask);
  return custom_gradient("attention", result.output, inputs,
                         [q = q.value(), k = k.value(), v = v.value(), mask, options, result](
                             const Tensor& upstream, const std::vector<bool>& needed) {
                           const bool whole = !sabotaged("gradients_of_scores_keep_their_mean");
                           auto gradients = kernels::attention_gradient(
                               q, k, v, mask, options, whole ? result : kernels::defects::without_output(result),
                               upstream);
                           gradients.resize(needed.size());
                           return gradients;
                         });
}

}  // namespace assay
