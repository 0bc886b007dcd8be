// Where the JSON of a command goes.
#include "app/json_output.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "base/error.hpp"

namespace assay::app {

void write_file(const std::string& file, const std::string& text) {
  if (!(std::ofstream(file) << text << std::flush))
    throw Error("FILE-2", "write " + file, "a file that can be written", std::strerror(errno));
}

void JsonOutput::add_to(CLI::App& command, const std::string& content) {
  option = command
               .add_option("--json", file,
                           "Write " + content + " as JSON; without FILE to standard output, and nothing else there")
               ->type_name("[FILE]")
               ->expected(0, 1);
}

void JsonOutput::write(const std::string& text) const {
  if (!wanted()) return;
  if (file.empty())
    std::cout << text << '\n';
  else
    write_file(file, text + "\n");
}

}  // namespace assay::app
