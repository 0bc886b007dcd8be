// assay export: the parameters of a checkpoint as a safetensors file.
#include <iostream>
#include <memory>

#include "app/commands.hpp"
#include "checkpoint/gpt2_names.hpp"
#include "checkpoint/run_checkpoint.hpp"
#include "checkpoint/safetensors.hpp"
#include "harness/model.hpp"

namespace assay::app {
namespace {

struct Options {
  std::string source, out, names = "own";
};

int export_parameters(const Options& options) {
  const Checkpoint checkpoint = checkpoint_of(options.source);
  Safetensors content{.arrays = dense_parameters(checkpoint, options.source)};
  for (const auto& [alias, owner] : checkpoint.aliases) content.metadata["tied." + alias] = owner;
  content.metadata["step"] = std::to_string(checkpoint.step);
  if (options.names == "gpt2") content.arrays = to_gpt2_names(content.arrays);
  save_safetensors(options.out, content);
  std::cout << content.arrays.size() << " tensors of step " << checkpoint.step << " in " << options.out << '\n';
  return fine;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("export", "Write the parameters of a checkpoint as a safetensors file");
  command.add_option("source", options->source, "A checkpoint, or a run, of which the newest whole one is taken")
      ->required()
      ->type_name("RUN|FILE.h5");
  command.add_option("--out", options->out, "The file")->required()->type_name("FILE.safetensors");
  command.add_option("--names", options->names, "own (the default), or gpt2: a decoder's parameters as GPT-2 has them")
      ->check(CLI::IsMember({"own", "gpt2"}));
  command.footer("Example: assay export runs/0001 --out weights.safetensors");
  command.callback([options, &action] { action = [options] { return export_parameters(*options); }; });
}

}  // namespace assay::app
