// The option --json [FILE] of the commands that give a verdict, and files that a command writes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace assay::app {

/// Writes a whole file. Errors: FILE-2.
void write_file(const std::string& file, const std::string& text);

struct JsonOutput {
  CLI::Option* option = nullptr;  ///< null until `add_to`
  std::string file;

  /// `content` says what is written: "the verdict".
  void add_to(CLI::App& command, const std::string& content);
  bool wanted() const { return option->count() > 0; }
  /// Whether standard output is for the JSON and nothing else.
  bool alone() const { return wanted() && file.empty(); }
  /// Writes the text where the user asked for it, if at all. Errors: FILE-2 for a file that cannot be written.
  void write(const std::string& text) const;
};

}  // namespace assay::app
