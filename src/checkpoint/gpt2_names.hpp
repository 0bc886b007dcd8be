// The decoder's parameters under the names and in the layout of GPT-2, and back.
#pragma once

#include <vector>

#include "checkpoint/array.hpp"

namespace assay {

/// The parameters of a decoder as files of GPT-2 have them: the weights of its blocks' linear maps transposed, [in,
/// out], query, key and value side by side in `attn.c_attn`. All else is renamed only.
///
/// The head: GPT-2's has no bias, so `language_model_head.bias` must be zeros. Without `language_model_head.weight`, as
/// a decoder with a tied head lists its parameters, there is no `lm_head.weight`.
/// Errors: FILE-3 naming the parameter, for one that is missing, unknown, given twice, of another shape or of another
/// type than `token_embedding.weight`, and for a bias of the head that is not zeros.
/// Source: A. Radford et al., "Language Models are Unsupervised Multitask Learners", 2019; names and layout of its
/// published parameters.
///
///     save_safetensors("gpt2.safetensors", {.arrays = to_gpt2_names(parameters)});
std::vector<NamedArray> to_gpt2_names(const std::vector<NamedArray>& arrays);

/// The other way, in the decoder's order. A `transformer.` before the names is taken off; the causal masks that some
/// files hold as `h.N.attn.bias` and `h.N.attn.masked_bias` are left out. The bias of the head becomes zeros.
///
/// Guarantee: `from_gpt2_names(to_gpt2_names(a)) == a`, every bit, for `a` in the decoder's order.
/// Errors: FILE-3 as above.
std::vector<NamedArray> from_gpt2_names(const std::vector<NamedArray>& arrays);

}  // namespace assay
