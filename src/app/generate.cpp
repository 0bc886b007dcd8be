// assay generate: what a trained decoder of bytes writes behind a prompt.
#include <chrono>
#include <cstdio>
#include <memory>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "checkpoint/run_checkpoint.hpp"
#include "data/byte_tokeniser.hpp"
#include "harness/model.hpp"
#include "models/generation.hpp"

namespace assay::app {
namespace {

struct GenerateOptions {
  std::string source, checkpoint = "last", device = "cpu", prompt;
  std::vector<std::string> stop;
  GenerationOptions generation;
};

int generate_text(const GenerateOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto model = load_decoder(checkpoint_of(options.source, options.checkpoint), options.source);
  model->to(parse_device(options.device));
  GenerationOptions generation = options.generation;
  for (const std::string& stop : options.stop) generation.stop.push_back(encode_bytes(stop));

  const Clock::time_point start = Clock::now();
  std::int64_t count = 0;
  generate(*model, {encode_bytes(options.prompt)}, generation, [&](std::size_t, std::int32_t token) {
    ++count;
    if (std::putchar(token) == EOF || std::fflush(stdout) != 0)
      throw Error("FILE-2", "write standard output", "room for it", "a write error");
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::fprintf(stderr, "\n%lld tokens in %.2f s, %.0f tokens/s on %s\n", static_cast<long long>(count), seconds,
               static_cast<double>(count) / seconds, options.device.c_str());
  return fine;
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  auto options = std::make_shared<GenerateOptions>();
  GenerationOptions& generation = options->generation;
  CLI::App& command = *app.add_subcommand("generate", "Continue a text with a trained decoder, byte by byte");
  command.add_option("source", options->source, "A run of a decoder, or one of its checkpoints")
      ->required()
      ->type_name("RUN|FILE.h5");
  command.add_option("--prompt", options->prompt, "What comes before; it is not printed")
      ->required()
      ->type_name("TEXT");
  command.add_option("--tokens", generation.tokens, "At most so many new bytes (default: 256)");
  command.add_option("--temperature", generation.sampling.temperature,
                     "Above 1 flatter, below sharper; 0: always the most probable byte (default: 1)");
  command.add_option("--top-k", generation.sampling.top_k, "Only the K most probable bytes (default: 0, all)")
      ->type_name("K");
  command
      .add_option("--top-p", generation.sampling.top_p,
                  "Only the most probable bytes that together reach the share P (default: 1)")
      ->type_name("P");
  command.add_option("--seed", generation.seed, "Of the random numbers (default: 0)");
  command.add_option("--stop", options->stop, "End behind this text; may be repeated")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  command
      .add_option("--checkpoint", options->checkpoint, "Of a run the last one (the default), or the best by validation")
      ->check(CLI::IsMember({"last", "best"}));
  command.add_option("--device", options->device, "Where to compute, which changes no byte (default: cpu)");
  command.footer(
      "New bytes go to standard output as they come, their number and speed to standard error. A run's data are not\n"
      "needed. Behind the context (data.context) the window moves on and is computed again for each byte, so that is\n"
      "slower.\n"
      "Examples: assay generate runs/0001 --prompt 'In the beginning '\n"
      "          assay generate runs/0001 --prompt 'And ' --tokens 5000 --temperature 0.8 --seed 7 > sample.txt");
  command.callback([options, &action] { action = [options] { return generate_text(*options); }; });
}

}  // namespace assay::app
