// Contract of cached decoding and of generation.
#include <cmath>

#include "device/pass.hpp"
#include "models/generation.hpp"
#include "support/contract.hpp"
#include "support/tensors.hpp"

using namespace assay;
using namespace assay::test;

namespace {

using Tokens = std::vector<std::int32_t>;

constexpr DecoderOptions cached{
    .vocabulary = 11, .context = 34, .width = 12, .heads = 3, .blocks = 2, .hidden = 20, .dropout = 0.2};

DecoderOnlyTransformer& on_device(DecoderOnlyTransformer& model, Device device) {
  model.to(device);
  return model;
}
/// A model of its own for a test: its weights are large enough for its logits to differ.
struct CachedModel {
  explicit CachedModel(Device device, const DecoderOptions& options = cached) : model(options, Random(3)) {
    for (const NamedParameter& entry : model.parameters()) {
      const Tensor& value = entry.parameter->value();
      entry.parameter->set_value(drawn(value.shape(), 7 + static_cast<std::uint64_t>(value.size()), -0.8, 0.8, cpu));
    }
    on_device(model, device);
  }
  DecoderOnlyTransformer model;
};

Tokens tokens_from(std::int64_t count, std::int64_t first = 0) {
  Tokens tokens;
  for (std::int64_t i = first; i < first + count; ++i)
    tokens.push_back(static_cast<std::int32_t>((i * i + 3 * i) % 11));
  return tokens;
}
Tensor batch_of(std::int64_t rows, std::int64_t count, Device device) {
  return Tensor::from(tokens_from(rows * count), {rows, count}, device);
}
/// What the model gives without a cache.
Tensor full_logits(const DecoderOnlyTransformer& model, const Tensor& ids) {
  const EvalScope evaluation;
  return model.forward(ids).value();
}

/// Appends rows of 1 to every block, without commit.
void append_ones(KvCache& cache, std::int64_t tokens) {
  const Tensor ones = Tensor::full(cache.shape().with(1, tokens), 1, cache.device());
  cache.begin(tokens);
  for (std::int64_t block = 0; block < cache.blocks(); ++block) cache.append(ones, ones);
}

}  // namespace

CONTRACT(KV_1_rows_count_when_they_are_committed_and_not_before) {
  const CachedModel made(device);
  const Tensor ids = batch_of(1, 10, device), expected = full_logits(made.model, ids);
  KvCache cache = made.model.new_cache();
  made.model.forward(ids.slice(1, 0, 6), cache);
  BOOST_TEST(cache.length() == 6);
  append_ones(cache, 3);
  BOOST_TEST(cache.length() == 6);
  cache.abort();
  BOOST_TEST(cache.length() == 6);
  check_same_bits(expected.slice(1, 6, 10), made.model.forward(ids.slice(1, 6, 10), cache), "behind an abort");
  BOOST_TEST(cache.length() == 10);
  append_ones(cache, 2);
  cache.commit();
  BOOST_TEST(cache.length() == 12);
  append_ones(cache, 2);
  cache.reset();
  BOOST_TEST(cache.length() == 0);
  check_same_bits(expected, made.model.forward(ids, cache), "behind a reset");
}

CONTRACT(KV_1_calls_out_of_turn_and_rows_that_do_not_fit_are_refused) {
  KvCache cache(2, {3, 5, 4}, device);
  const Tensor rows = Tensor::zeros({3, 2, 4}, device);
  check_refused([&] { cache.append(rows, rows); }, "KV-1",
                "KvCache::append: expected a call for each of 2 blocks behind begin, found none begun");
  check_refused([&] { cache.commit(); }, "KV-1", "KvCache::commit: expected rows of all 2 blocks, found none begun");
  check_refused([&] { cache.begin(0); }, "KV-1", "KvCache::begin: expected 1 token or more, found 0");
  cache.begin(2);
  check_refused(
      [&] { cache.begin(1); }, "KV-1",
      "KvCache::begin: expected the 2 tokens of before committed or aborted, found a transaction that is open");
  check_refused(
      [&] {
        cache.append(rows, Tensor::zeros({3, 1, 4}, device));
      },
      "KV-1", "KvCache::append: expected [3, 2, 4] on " + to_string(device) + ", found [3, 1, 4]");
  const Device other = device == cpu ? simulated : cpu;
  check_refused([&] { cache.append(rows.to(other), rows); }, "KV-1", "found [3, 2, 4] on " + to_string(other));
  cache.append(rows, rows);
  check_refused([&] { cache.commit(); }, "KV-1", "expected rows of all 2 blocks, found 1");
  cache.append(rows, rows);
  check_refused([&] { cache.append(rows, rows); }, "KV-1", "found one more");
  cache.commit();
  BOOST_TEST(cache.length() == 2);
}

CONTRACT(KV_1_a_device_that_fails_leaves_the_cache_as_it_was_and_the_call_can_be_made_again) {
  const CachedModel made(device);
  const Tensor ids = batch_of(2, 9, device), expected = full_logits(made.model, ids);
  KvCache cache = made.model.new_cache(2);
  for (const DeviceAction action : {DeviceAction::allocation, DeviceAction::copy, DeviceAction::launch}) {
    int failures = 0;
    for (std::uint64_t nth = 1, done = 0; done < 2; ++nth) {
      cache.reset();
      made.model.forward(ids.slice(1, 0, 4), cache);
      const std::int64_t end = done == 0 ? 9 : 5;  // a prompt, then one token
      bool failed = false;
      {
        const FaultScope fault(device, action, nth);
        try {
          made.model.forward(ids.slice(1, 4, end), cache);
        } catch (const Error& error) {
          BOOST_TEST(error.id() == "RES-6");
          failed = true;
        }
        BOOST_TEST(failed == fault.fired());
      }
      if (!failed) {
        ++done;
        nth = 0;
        continue;
      }
      ++failures;
      BOOST_TEST(cache.length() == 4, "failure " << nth);
      check_same_bits(expected.slice(1, 4, end), made.model.forward(ids.slice(1, 4, end), cache),
                      "behind failure " + std::to_string(nth));
    }
    BOOST_TEST(failures >= (action == DeviceAction::copy ? 2 : 40), "only " << failures << " could fail");
  }
}

CONTRACT(KV_2_logits_out_of_a_cache_have_the_bits_of_the_full_forward_at_every_position) {
  for (const bool other_form : {false, true}) {
    DecoderOptions options = cached;
    options.materialised = options.tied = options.checkpointed = other_form;
    const CachedModel made(device, options);
    const Tensor ids = batch_of(3, 34, device), expected = full_logits(made.model, ids);
    for (const std::vector<std::int64_t>& parts :
         {std::vector<std::int64_t>{34}, {33, 1}, {5, 3, 1, 1, 20, 4}, std::vector<std::int64_t>(34, 1)}) {
      KvCache cache = made.model.new_cache(3);
      std::int64_t begin = 0;
      for (const std::int64_t tokens : parts) {
        const Tensor found = made.model.forward(ids.slice(1, begin, begin + tokens), cache);
        check_same_bits(expected.slice(1, begin, begin + tokens), found,
                        "tokens " + std::to_string(begin) + " to " + std::to_string(begin + tokens));
        begin += tokens;
        BOOST_TEST(cache.length() == begin);
      }
    }
  }
}

CONTRACT(KV_2_a_sequence_of_a_batch_has_the_bits_that_it_has_alone) {
  const CachedModel made(device);
  const Tensor ids = batch_of(3, 8, device);
  KvCache cache = made.model.new_cache(3);
  const Tensor prompt = made.model.forward(ids.slice(1, 0, 7), cache);
  const Tensor next = made.model.forward(ids.slice(1, 7, 8), cache);
  for (std::int64_t row = 0; row < 3; ++row) {
    KvCache alone = made.model.new_cache();
    const Tensor own = ids.slice(0, row, row + 1);
    check_same_bits(prompt.slice(0, row, row + 1), made.model.forward(own.slice(1, 0, 7), alone), "prompt");
    check_same_bits(next.slice(0, row, row + 1), made.model.forward(own.slice(1, 7, 8), alone), "next token");
  }
}

CONTRACT(KV_2_evaluation_without_gradients_is_what_a_cache_is_for) {
  const CachedModel made(device);
  const Tensor ids = batch_of(1, 4, device);
  KvCache cache = made.model.new_cache();
  BOOST_TEST(training());
  check_same_bits(full_logits(made.model, ids), made.model.forward(ids, cache), "in training mode");
  BOOST_TEST(training());
}

CONTRACT(KV_2_the_cache_of_another_model_batch_or_device_is_refused) {
  const CachedModel made(device);
  const auto refused = [&](KvCache cache, const std::string& found) {
    check_refused([&] { made.model.forward(batch_of(2, 3, device), cache); }, "KV-2",
                  "DecoderOnlyTransformer: expected a cache of 2 blocks of rows [2, 34, 12] on " + to_string(device) +
                      ", found a cache of " + found);
    BOOST_TEST(cache.length() == 0);
  };
  refused(KvCache(3, {2, 34, 12}, device), "3 blocks");
  refused(KvCache(2, {1, 34, 12}, device), "2 blocks of rows [1, 34, 12]");
  refused(KvCache(2, {2, 35, 12}, device), "2 blocks of rows [2, 35, 12]");
  const Device other = device == cpu ? simulated : cpu;
  refused(KvCache(2, {2, 34, 12}, other), "2 blocks of rows [2, 34, 12] on " + to_string(other));
  KvCache cache = made.model.new_cache();
  check_refused([&] { made.model.forward(Tensor::from(Tokens{1, 11}, {1, 2}, device), cache); }, "LAYER-3", "found 11");
  check_refused([&] { made.model.forward(Tensor::from(Tokens{1, 2}, {2}, device), cache); }, "LAYER-3", "found [2]");
  BOOST_TEST(cache.length() == 0);
}

CONTRACT(NUM_9_cached_decoding_has_the_bits_of_the_full_forward_where_blocks_of_chains_end) {
  const CachedModel made(device, {.vocabulary = 11, .context = 515, .width = 4, .heads = 1, .blocks = 1, .hidden = 4});
  const Tensor ids = batch_of(1, 515, device), expected = full_logits(made.model, ids);
  KvCache cache = made.model.new_cache();
  check_same_bits(expected.slice(1, 0, 511), made.model.forward(ids.slice(1, 0, 511), cache), "prompt");
  for (std::int64_t t = 511; t < 515; ++t)
    check_same_bits(expected.slice(1, t, t + 1), made.model.forward(ids.slice(1, t, t + 1), cache),
                    "token " + std::to_string(t));
}

CONTRACT(KV_3_a_cache_outlives_the_pass_that_made_it_and_gives_its_memory_back) {
  const CachedModel made(device);
  const Tensor ids = batch_of(1, 6, device), expected = full_logits(made.model, ids);
  const std::uint64_t before = device_counters(device).live_bytes;
  {
    std::optional<KvCache> cache;
    {
      const PassScope pass("prompt");
      cache.emplace(made.model.new_cache());
      made.model.forward(ids.slice(1, 0, 3), *cache);
    }
    const PassScope pass("next token");
    check_same_bits(expected.slice(1, 3, 6), made.model.forward(ids.slice(1, 3, 6), *cache), "in another pass");
  }
  BOOST_TEST(device_counters(device).live_bytes == before);
  for (std::uint64_t nth = 1;; ++nth) {
    const FaultScope fault(device, DeviceAction::allocation, nth);
    try {
      made.model.new_cache();
    } catch (const Error& error) {
      BOOST_TEST(error.id() == "RES-6");
    }
    BOOST_TEST(device_counters(device).live_bytes == before);
    if (!fault.fired()) break;
    BOOST_TEST_REQUIRE(nth <= 4u);
  }
  check_refused(
      [&] {
        KvCache(0, {1, 2, 3}, device);
      },
      "KV-3", "KvCache: expected 1 block or more of rows [B, context, C], none of them 0, found 0 blocks of [1, 2, 3]");
  check_refused([&] { made.model.new_cache(0); }, "KV-3", "found 2 blocks of [0, 34, 12]");
  check_refused([&] { KvCache(1, {2, 3}, device); }, "KV-3", "found 1 blocks of [2, 3]");
}

CONTRACT(KV_3_a_token_downloads_nothing_and_asks_for_no_memory) {
  const CachedModel made(device);
  const Tensor ids = batch_of(1, 12, device);
  KvCache cache = made.model.new_cache();
  DeviceCounters before;
  for (std::int64_t t = 0; t < 12; ++t) {
    const PassScope pass("token");
    if (t == 2) before = device_counters(device);
    made.model.forward(ids.slice(1, t, t + 1), cache);
  }
  const DeviceCounters now = device_counters(device);
  BOOST_TEST(now.downloads == before.downloads);
  BOOST_TEST(now.requests == before.requests);
}

CONTRACT(KV_3_a_full_cache_is_refused_and_recovers) {
  const CachedModel made(device);
  const Tensor ids = batch_of(1, 34, device), expected = full_logits(made.model, ids);
  KvCache cache = made.model.new_cache();
  made.model.forward(ids.slice(1, 0, 33), cache);
  check_refused([&] { made.model.forward(ids.slice(1, 0, 2), cache); }, "KV-4",
                "KvCache::begin: expected at most 1 more tokens in a context of 34 (behind it the cropped window is "
                "computed again), found 2");
  check_same_bits(expected.slice(1, 33, 34), made.model.forward(ids.slice(1, 33, 34), cache), "the last one");
  check_refused([&] { made.model.forward(ids.slice(1, 0, 1), cache); }, "KV-4", "at most 0 more");
  cache.reset();
  check_same_bits(expected, made.model.forward(ids, cache), "behind a reset");
}

CONTRACT(KV_4_behind_the_context_logits_are_those_of_the_cropped_window) {
  const CachedModel made(device);
  const Tokens text = tokens_from(80);
  const auto expected = [&](std::int64_t row, std::int64_t end) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - 34) + row;
    const Tokens window(text.begin() + begin, text.begin() + row + end);
    const Tensor ids = Tensor::from(window, {1, static_cast<std::int64_t>(window.size())}, device);
    const Tensor logits = full_logits(made.model, ids);
    return logits.slice(1, ids.shape()[1] - 1, ids.shape()[1]);
  };
  for (const std::int64_t prompt : {30, 34, 45}) {
    Decoding decoding(made.model, 2);
    std::int64_t begin = 0;
    for (std::int64_t end = prompt; end < prompt + 8; begin = end, ++end) {
      const auto part = [&](std::int64_t row) { return Tokens(text.begin() + row + begin, text.begin() + row + end); };
      const Tensor found = decoding.next({part(0), part(20)});
      BOOST_TEST(to_string(found.shape()) == "[2, 1, 11]");
      for (const std::int64_t row : {0, 1})
        check_same_bits(expected(row * 20, end), found.slice(0, row, row + 1),
                        "behind " + std::to_string(end) + " tokens, row " + std::to_string(row));
    }
  }
}

CONTRACT(KV_4_a_window_that_could_not_be_computed_can_be_tried_again) {
  const CachedModel made(device);
  const auto decoded = [&](std::uint64_t fault_at) {
    Decoding decoding(made.model, 1);
    Tensor logits = decoding.next({tokens_from(33)});
    for (std::int64_t t = 33; t < 37; ++t) {
      bool done = false;
      if (fault_at > 0) {
        const FaultScope fault(device, DeviceAction::launch, fault_at);
        try {
          logits = decoding.next({tokens_from(1, t)});
          done = true;
        } catch (const Error&) {
        }
      }
      if (!done) logits = decoding.next({tokens_from(1, t)});
    }
    return logits;
  };
  const Tensor expected = decoded(0);
  for (const std::uint64_t nth : {1, 9, 20}) check_same_bits(expected, decoded(nth), "launch " + std::to_string(nth));
}

CONTRACT(KV_4_generation_goes_on_behind_the_context) {
  const CachedModel made(device);
  const GenerationOptions options{.tokens = 45, .seed = 4};
  const Tokens prompt = tokens_from(5);
  Tokens text = prompt;
  for (std::uint64_t t = 0; t < 45; ++t) {
    const Tokens window(text.end() - std::min<std::ptrdiff_t>(34, static_cast<std::ptrdiff_t>(text.size())),
                        text.end());
    const auto width = static_cast<std::int64_t>(window.size());
    const Tensor logits = full_logits(made.model, Tensor::from(window, {1, width}, device));
    text.push_back(sample(logits.slice(1, width - 1, width).read<float>().span(), {},
                          numerics::uniform(stream_key(4, "generation"), 0, t)));
  }
  text.erase(text.begin(), text.begin() + 5);
  BOOST_TEST(generate(made.model, {prompt}, options).front() == text, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(KV_5_a_token_is_chosen_by_the_stated_formula) {
  const std::vector<float> logits{1, 3, 3, 2};  // in order: tokens 1, 2, 3, 0 with weights 1, 1, e⁻¹, e⁻²
  const auto chosen = [&](const SamplingOptions& options, float u) { return sample(logits, options, u); };
  for (const float u : {0.f, 0.5f, 0x1.fffffep-1f}) {
    BOOST_TEST(chosen({.temperature = 0}, u) == 1);
    BOOST_TEST(chosen({.top_k = 1}, u) == 1);
    BOOST_TEST(chosen({.top_p = 0.39}, u) == 1);
  }
  BOOST_TEST(chosen({.top_k = 2}, 0.4999f) == 1);
  BOOST_TEST(chosen({.top_k = 2}, 0.5f) == 2);
  BOOST_TEST(chosen({.top_p = 0.41}, 0.4999f) == 1);
  BOOST_TEST(chosen({.top_p = 0.41}, 0x1.fffffep-1f) == 2);
  BOOST_TEST(chosen({.top_k = 9}, 0x1.fffffep-1f) == 0);
  BOOST_TEST(chosen({.temperature = 0.001}, 0x1.fffffep-1f) == 2, "what has an exponent below -700 has no weight");
  BOOST_TEST(sample(std::vector<float>{-1e30f, 5}, {}, 0x1.fffffep-1f) == 1);

  const Tensor drawn_logits = drawn({40}, 3, -4, 4, cpu);
  const auto z = drawn_logits.read<float>();
  std::vector<std::size_t> order(40);
  for (std::size_t i = 0; i < 40; ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return z[static_cast<std::int64_t>(a)] > z[static_cast<std::int64_t>(b)]; });
  for (const double temperature : {0.3, 1.0, 2.5})
    for (std::uint64_t n = 0; n < 200; ++n) {
      const float u = numerics::uniform(5, n, 0);
      long double total = 0, below = 0;
      for (const std::size_t i : order)
        total += std::exp(static_cast<long double>(z[static_cast<std::int64_t>(i)]) / temperature);
      const std::int32_t found = sample(z.span(), {.temperature = temperature}, u);
      for (const std::size_t i : order) {
        const long double share =
            std::exp(static_cast<long double>(z[static_cast<std::int64_t>(i)]) / temperature) / total;
        if (static_cast<std::int32_t>(i) == found) {
          BOOST_TEST(static_cast<double>(below - u) <= 1e-12);
          BOOST_TEST(static_cast<double>(u - below - share) <= 1e-12);
        }
        below += share;
      }
    }
}

CONTRACT(KV_5_the_tokens_are_those_of_the_cpu_and_of_no_other_sequence) {
  const CachedModel here(device), there(cpu);
  const std::vector<Tokens> prompts{tokens_from(6), tokens_from(6), tokens_from(6, 9)};
  for (const SamplingOptions& sampling :
       {SamplingOptions{}, SamplingOptions{.temperature = 0.7, .top_k = 6, .top_p = 0.9},
        SamplingOptions{.temperature = 0}}) {
    const GenerationOptions options{.tokens = 25, .sampling = sampling, .seed = 12};
    const auto found = generate(here.model, prompts, options);
    BOOST_TEST((found == generate(there.model, prompts, options)));
    BOOST_TEST((found == generate(here.model, prompts, options)), "again");
    BOOST_TEST((found[0] == generate(here.model, {prompts[0]}, options)[0]), "the first alone");
    BOOST_TEST((found[0] == found[1]) == (sampling.temperature == 0), "each sequence has random numbers of its own");
    GenerationOptions other = options;
    other.seed = 13;
    BOOST_TEST((found == generate(here.model, prompts, other)) == (sampling.temperature == 0), "another seed");
  }
}

CONTRACT(KV_5_a_sequence_ends_behind_a_stop_and_the_others_go_on) {
  const CachedModel made(device);
  const std::vector<Tokens> prompts{tokens_from(4), tokens_from(4, 5)};
  GenerationOptions options{.tokens = 20, .seed = 1};
  const auto whole = generate(made.model, prompts, options);
  const Tokens stop(whole[0].begin() + 7, whole[0].begin() + 10);
  std::size_t ends[2];
  for (std::size_t row : {0, 1}) {
    const auto at = std::search(whole[row].begin(), whole[row].end(), stop.begin(), stop.end());
    ends[row] = at == whole[row].end() ? 20 : static_cast<std::size_t>(at - whole[row].begin()) + 3;
  }
  options.stop = {Tokens(30, 1), stop};
  std::vector<Tokens> told(2);
  const auto found =
      generate(made.model, prompts, options, [&](std::size_t row, std::int32_t token) { told[row].push_back(token); });
  BOOST_TEST((found == told));
  for (std::size_t row : {0, 1}) {
    const auto end = whole[row].begin() + static_cast<std::ptrdiff_t>(ends[row]);
    BOOST_TEST((found[row] == Tokens(whole[row].begin(), end)));
  }
  BOOST_TEST(found[0].size() <= 10u);
  options.tokens = 0;
  BOOST_TEST((generate(made.model, prompts, options) == std::vector<Tokens>(2)));
}

BOOST_AUTO_TEST_CASE(KV_5_options_and_prompts_that_mean_nothing_are_refused) {
  const std::vector<float> logits{1, 2};
  const auto refused = [&](const SamplingOptions& options, const std::string& text) {
    check_refused([&] { sample(logits, options, 0); }, "KV-5", "sampling: expected " + text);
  };
  refused({.temperature = -1}, "a finite temperature of 0 or more, found -1");
  refused({.temperature = std::nan("")}, "a finite temperature");
  refused({.temperature = INFINITY}, "a finite temperature");
  refused({.top_k = -2}, "top-k of 1 or more, or 0 for all, found -2");
  refused({.top_p = 0}, "top-p above 0 and at most 1, found 0");
  refused({.top_p = 1.5}, "top-p above 0 and at most 1, found 1.5");
  check_refused([&] { sample(logits, {}, 1); }, "KV-5", "expected u in [0, 1), found 1");
  check_refused([] { sample({}, {}, 0); }, "KV-5", "expected one logit or more, found none");
  check_refused(
      [] {
        sample(std::vector<float>{1, INFINITY}, {}, 0);
      },
      "KV-5", "sampling: expected finite logits, found inf of token 1");
  check_refused([] { sample(std::vector<float>{std::nanf("")}, {.temperature = 0}, 0); }, "KV-5", "finite logits");

  const CachedModel made(cpu);
  const auto refused_prompts = [&](const std::vector<Tokens>& prompts, const std::string& found) {
    check_refused([&] { generate(made.model, prompts, {}); }, "KV-5",
                  "generate: prompts: expected one sequence or more, of equal length above 0, found " + found);
  };
  refused_prompts({}, "none");
  refused_prompts({{}}, "lengths 0");
  refused_prompts({{1}, {1, 2}}, "lengths 1, 2");
  check_refused([&] { generate(made.model, {{1}}, {.tokens = -1}); }, "KV-5", "expected 0 tokens or more, found -1");
  check_refused([&] { generate(made.model, {{1}}, {.stop = {{2}, {}}}); }, "KV-5", "found an empty one");
  Decoding decoding(made.model, 2);
  check_refused([&] { decoding.next({{1}}); }, "KV-5",
                "Decoding::next: expected 2 sequences, of equal length above 0, found lengths 1");
}
