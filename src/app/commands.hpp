// The commands of `assay`, one file each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace assay::app {

/// What the chosen command does once all options are read; gives the exit status.
using Action = std::function<int()>;

/// Exit statuses of every command.
inline constexpr int fine = 0, does_not_hold = 1, failed = 2;

// Each adds its command to `app`; parsing it sets `action`.
void add_run(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_contracts(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_selftest(CLI::App& app, Action& action);
void add_gradcheck(CLI::App& app, Action& action);

/// The command line of this process, quoted for a shell; `main` sets it.
inline std::string command_line;

}  // namespace assay::app
