// assay inspect: what a file holds.
#include "checkpoint/inspect.hpp"

#include <filesystem>
#include <iostream>
#include <memory>

#include "app/commands.hpp"

namespace assay::app {

void add_inspect(CLI::App& app, Action& action) {
  auto path = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("inspect", "Print what an HDF5 file holds, after checking every byte of it");
  command.add_option("file", *path, "A file, or the folder of a run (its run.h5)")
      ->required()
      ->type_name("FILE.h5|RUN");
  command.footer("Example: assay inspect runs/0001/checkpoints/step-00000200.h5");
  command.callback([path, &action] {
    action = [path] {
      describe(std::filesystem::is_directory(*path) ? *path + "/run.h5" : *path, std::cout);
      return fine;
    };
  });
}

}  // namespace assay::app
