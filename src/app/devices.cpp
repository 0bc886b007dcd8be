// assay devices: where this build can compute.
#include <iomanip>
#include <iostream>

#include "app/commands.hpp"
#include "device/device.hpp"

namespace assay::app {

void add_devices(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("devices", "List the devices, usable or not");
  command.footer("Example: assay devices");
  command.callback([&action] {
    action = [] {
      for (const DeviceDescription& device : describe_devices())
        std::cout << std::left << std::setw(10) << device.name << "  " << std::setw(11)
                  << (device.usable ? "usable" : "not usable") << " " << device.detail << '\n';
      return fine;
    };
  });
}

}  // namespace assay::app
