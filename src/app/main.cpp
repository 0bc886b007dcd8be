// The `assay` command: reading its command line, and every way in which it can end.
#include <malloc.h>

#include <iostream>
#include <limits>
#include <new>

#include "app/commands.hpp"
#include "base/build_info.hpp"
#include "checkpoint/sealed_file.hpp"

namespace assay::app {
namespace {

std::string quoted(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char character : word) text += character == '\'' ? "'\\''" : std::string(1, character);
  return text + "'";
}

std::string version() {
  const BuildInfo build = build_info();
  return "assay " + build.version + " (numerics " + std::to_string(numerics_version) + ", " + build.build_type + ", " +
         build.compiler + (build.cuda.empty() ? "" : ", CUDA " + build.cuda) + ", commit " +
         build.git_commit.substr(0, 12) + (build.git_dirty ? " with changes)" : ")");
}

int run(int argc, char** argv) {
  CLI::App app{"Trains neural networks with the same bits on any number of threads, and proves it."};
  app.name("assay");
  app.set_version_flag("--version", version);
  app.footer(
      "Exit status: 0 fine, 1 a comparison or check does not hold, 2 usage, file or device error.\n"
      "ASSAY_THREADS, ASSAY_ISA=baseline|avx2|avx512 and ASSAY_CUDA_DEVICE=N hold for every command.\n"
      "Example: assay run experiments/fashion_mnist/smoke.toml --threads 2");
  Action action;
  for (auto add : {add_run, add_compare, add_replay, add_report, add_contracts, add_generate, add_export, add_inspect,
                   add_devices, add_gradcheck, add_selftest})
    add(app, action);
  for (int i = 0; i < argc; ++i) command_line += (i ? " " : "") + (i ? quoted(argv[i]) : std::string("assay"));
  try {
    app.parse(argc, argv);
    if (!action)
      throw CLI::RequiredError(
          "A command (run, compare, replay, report, contracts, gradcheck, generate, export, inspect, devices, "
          "selftest)");
  } catch (const CLI::Success& wanted) {
    app.exit(wanted);
    return fine;
  } catch (const CLI::ParseError& error) {
    std::cerr << "assay: usage: " << error.what() << "\nassay --help and assay COMMAND --help explain everything.\n";
    return failed;
  }
  const int status = action();
  if (!std::cout.flush()) {
    std::cerr << "assay: FILE-2: write standard output: expected room for it, found a write error\n";
    return failed;
  }
  return status;
}

}  // namespace
}  // namespace assay::app

int main(int argc, char** argv) {
  // Comparing and training free memory and ask for the same sizes again; pages that went back would have to be cleared.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  try {
    return assay::app::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::cerr << "assay: out of memory: expected room for the model, its data and its files, found none\n";
  } catch (const std::exception& error) {
    std::cerr << "assay: " << error.what() << '\n';
  }
  return assay::app::failed;
}
