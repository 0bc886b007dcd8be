// assay selftest: one digest over what the numerics compute here, the same wherever they hold.
#include "harness/selftest.hpp"

#include <iomanip>
#include <iostream>
#include <memory>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/device.hpp"

namespace assay::app {

void add_selftest(CLI::App& app, Action& action) {
  struct Options {
    std::string device = "cpu";
    int threads = 0;
    bool parts = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("selftest", "Print one digest over every operation and a short training");
  command.add_option("--device", options->device, "Where to compute: cpu (default), simulated or cuda");
  command.add_option("--threads", options->threads, "Threads (default: ASSAY_THREADS, else 1)")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--parts", options->parts, "Also print the digest of each part");
  command.footer(
      "The digest is the same on any number of threads, any processor, both devices and with any compiler.\n"
      "Example: assay selftest --threads 3");
  command.callback([options, &action] {
    action = [options] {
      const Device device = parse_device(options->device);
      if (device == reference_device)
        throw Error("XFER-8", "selftest", "--device cpu, simulated or cuda, whose bits are promised",
                    "--device " + options->device);
      if (options->threads > 0) set_threads(options->threads);
      const std::vector<SelftestPart> parts = run_selftest(device);
      if (options->parts)
        for (const SelftestPart& part : parts)
          std::cout << std::hex << std::setfill('0') << std::setw(16) << part.digest << "  " << part.name << '\n';
      std::cout << selftest_digest(parts) << '\n';
      return fine;
    };
  });
}

}  // namespace assay::app
