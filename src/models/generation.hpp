// Generation: the tokens that a decoder expects behind a prompt, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/decoder.hpp"

namespace assay {

/// How a token is chosen.
struct SamplingOptions {
  double temperature = 1;  ///< T; 0: greedy, the token with the largest logit, of several the lowest
  std::int64_t top_k = 0;  ///< only the k most probable; 0: all
  double top_p = 1;        ///< only the most probable ones that together reach this share
};

/// A token drawn from softmax(logits ÷ T), cut to the most probable. On the host, in binary64, without libm:
/// - tokens in descending logit z, of equal ones the lower id first, and of these the first k;
/// - w_i = exp((z_i − z_0) ÷ T), 0 where the exponent is below −700 (numerics::Exponential);
/// - c_i = c_(i−1) + w_i, c_(−1) = 0; only the tokens up to the first n with c_n >= p·(the last c) stay;
/// - the first i with c_i > u·c_n, u in [0, 1).
///
/// So it is the same on every device that computes the same logits (KV-5). Errors: KV-5 for options outside
/// T >= 0, k >= 0 and 0 < p <= 1, for no logits, one that is not finite, and another u.
/// Source: A. Holtzman et al., "The curious case of neural text degeneration" (2020), for top-p.
///
///     sample(logits, {.temperature = 0.8, .top_k = 40}, numerics::uniform(stream.key(), row, draw));
std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, float uniform);

/// Sequences of equal length while they grow, and the logits of what may come next.
///
/// `next` takes tokens for every sequence, as many for each, and gives the logits [B, 1, V] behind the last one: those
/// of a forward over the newest `context` tokens, in every bit (KV-2, KV-4). As long as there is room they come out of
/// a cache. Behind it the window moves on, every token gets another position and with it other keys and values, and so
/// the whole window is computed for each token. Errors: KV-5 for other counts of sequences or tokens; those of the
/// model. A failed call has changed nothing.
///
///     Decoding decoding(model, 1);
///     Tensor logits = decoding.next({encode_bytes("In the beginning ")});
///     logits = decoding.next({{'G'}});
class Decoding {
 public:
  /// The model must outlive it and keep its weights and device. Errors: KV-3.
  Decoding(const DecoderOnlyTransformer& model, std::int64_t sequences)
      : model_(model), cache_(model.new_cache(sequences)), windows_(static_cast<std::size_t>(sequences)) {}
  Tensor next(const std::vector<std::vector<std::int32_t>>& tokens);

 private:
  const DecoderOnlyTransformer& model_;
  KvCache cache_;
  std::vector<std::vector<std::int32_t>> windows_;  // the newest tokens of each, at most the context
};

struct GenerationOptions {
  std::int64_t tokens = 256;  ///< at most so many new ones a sequence
  SamplingOptions sampling = {};
  std::uint64_t seed = 0;
  std::vector<std::vector<std::int32_t>> stop = {};  ///< a sequence ends where its new tokens end with one of these
};

/// Continues prompts of equal length, each by itself: the new tokens of each, what it stopped at included. Number t of
/// sequence b is `sample` of its logits with element b of draw t of the stream "generation" (N6). A prompt that is
/// longer than the context counts from its end. `told` hears of every new token as it comes.
/// Errors: KV-5 for no prompts, an empty one or prompts of different length, a negative number of tokens, an empty
/// stop; those of `sample` and the model.
///
///     generate(model, {encode_bytes("In the beginning ")}, {.tokens = 100, .sampling = {.temperature = 0.8}});
std::vector<std::vector<std::int32_t>> generate(
    const DecoderOnlyTransformer& model, const std::vector<std::vector<std::int32_t>>& prompts,
    const GenerationOptions& options,
    const std::function<void(std::size_t sequence, std::int32_t token)>& told = [](std::size_t, std::int32_t) {});

}  // namespace assay
