// The loop over new tokens, the window that it moves, and the choice of a token.
#include "models/generation.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "device/pass.hpp"
#include "numerics/exp.hpp"
#include "numerics/philox.hpp"

namespace assay {
namespace {

using Sequences = std::vector<std::vector<std::int32_t>>;

void require_options(const SamplingOptions& options) {
  const auto refuse = [](const char* expected, const auto& found) {
    throw Error("KV-5", "sampling", expected, std::to_string(found));
  };
  if (!(options.temperature >= 0 && options.temperature - options.temperature == 0))
    refuse("a finite temperature of 0 or more", options.temperature);
  if (options.top_k < 0) refuse("top-k of 1 or more, or 0 for all", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1)) refuse("top-p above 0 and at most 1", options.top_p);
}

/// Errors: KV-5 unless there are so many sequences (0: any number), none empty and all equally long.
void require_even(const char* operation, const Sequences& sequences, std::size_t count) {
  std::string lengths;
  bool even = !sequences.empty() && (count == 0 || sequences.size() == count);
  for (const auto& sequence : sequences) {
    even = even && !sequence.empty() && sequence.size() == sequences.front().size();
    lengths += (lengths.empty() ? "" : ", ") + std::to_string(sequence.size());
  }
  if (!even)
    throw Error("KV-5", operation,
                (count == 0 ? "one sequence or more" : std::to_string(count) + " sequences") +
                    std::string(", of equal length above 0"),
                sequences.empty() ? "none" : "lengths " + lengths);
}

bool ends_with_one_of(const std::vector<std::int32_t>& tokens, const Sequences& stops) {
  return std::any_of(stops.begin(), stops.end(), [&](const std::vector<std::int32_t>& stop) {
    return stop.size() <= tokens.size() && std::equal(stop.rbegin(), stop.rend(), tokens.rbegin());
  });
}

}  // namespace

std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, float uniform) {
  require_options(options);
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] - logits[i] != 0)
      throw Error("KV-5", "sampling", "finite logits", std::to_string(logits[i]) + " of token " + std::to_string(i));
  if (!(uniform >= 0 && uniform < 1)) throw Error("KV-5", "sampling", "u in [0, 1)", std::to_string(uniform));
  if (logits.empty()) throw Error("KV-5", "sampling", "one logit or more", "none");

  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  std::sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
    if (logit(a) != logit(b)) return logit(a) > logit(b);
    return sabotaged("ties_by_higher_id") ? a > b : a < b;
  });
  if (options.temperature == 0) return ids.front();
  if (options.top_k > 0 && options.top_k < static_cast<std::int64_t>(ids.size()))
    ids.resize(static_cast<std::size_t>(options.top_k));

  std::vector<double> sums;
  double sum = 0;
  for (const std::int32_t id : ids) {
    const double x = (static_cast<double>(logit(id)) - static_cast<double>(logit(ids.front()))) / options.temperature;
    sum = sum + (x < -700 ? 0 : numerics::Exponential(x).value());
    sums.push_back(sum);
  }
  const double reached = *std::lower_bound(sums.begin(), sums.end(), options.top_p * sum);
  const auto chosen = std::upper_bound(sums.begin(), sums.end(), static_cast<double>(uniform) * reached);
  return ids[static_cast<std::size_t>(chosen - sums.begin())];
}

Tensor Decoding::next(const Sequences& tokens) {
  require_even("Decoding::next", tokens, windows_.size());
  const auto context = static_cast<std::size_t>(cache_.shape()[1]);
  const std::size_t before = windows_.front().size(), added = tokens.front().size();
  Sequences windows = windows_;
  for (std::size_t row = 0; row < windows.size(); ++row) {
    std::vector<std::int32_t>& window = windows[row];
    window.insert(window.end(), tokens[row].begin(), tokens[row].end());
    if (window.size() > context) window.erase(window.begin(), window.end() - static_cast<std::ptrdiff_t>(context));
  }
  const bool moved = before + added > context, computed = static_cast<std::size_t>(cache_.length()) == before;
  if (moved || !computed) cache_.reset();  // a call that failed has left it empty
  const auto known = static_cast<std::ptrdiff_t>(
      moved && sabotaged("window_is_not_computed_again") ? context - 1 : static_cast<std::size_t>(cache_.length()));
  std::vector<std::int32_t> ids;
  for (const auto& window : windows) ids.insert(ids.end(), window.begin() + known, window.end());
  const auto rows = static_cast<std::int64_t>(windows.size()), width = static_cast<std::int64_t>(ids.size()) / rows;
  const Tensor logits = model_.forward(Tensor::from(ids, {rows, width}, cache_.device()), cache_);
  windows_ = std::move(windows);
  return logits.slice(1, width - 1, width);
}

Sequences generate(const DecoderOnlyTransformer& model, const Sequences& prompts, const GenerationOptions& options,
                   const std::function<void(std::size_t, std::int32_t)>& told) {
  require_even("generate: prompts", prompts, 0);
  require_options(options.sampling);
  if (options.tokens < 0) throw Error("KV-5", "generate", "0 tokens or more", std::to_string(options.tokens));
  if (ends_with_one_of({}, options.stop)) throw Error("KV-5", "generate", "stops of 1 token or more", "an empty one");

  Decoding decoding(model, static_cast<std::int64_t>(prompts.size()));
  Stream stream(options.seed, "generation");
  Sequences results(prompts.size()), newest = prompts;
  std::vector<bool> ended(prompts.size());
  for (std::int64_t t = 0; t < options.tokens && !std::all_of(ended.begin(), ended.end(), std::identity()); ++t) {
    const PassScope pass("token " + std::to_string(t));
    const Snapshot<float> logits = decoding.next(newest).to(cpu).read<float>();
    const std::uint64_t draw = stream.next_draw().index;
    const std::size_t vocabulary = static_cast<std::size_t>(logits.size()) / prompts.size();
    for (std::size_t row = 0; row < prompts.size(); ++row) {
      const std::uint64_t element = sabotaged("sequences_share_their_numbers") ? 0 : row;
      const std::int32_t token = sample(logits.span().subspan(row * vocabulary, vocabulary), options.sampling,
                                        numerics::uniform(stream.key(), element, draw));
      newest[row] = {token};  // of one that has ended too, since all go on together
      if (ended[row]) continue;
      results[row].push_back(token);
      told(row, token);
      ended[row] = ends_with_one_of(results[row], options.stop);
    }
  }
  return results;
}

}  // namespace assay
