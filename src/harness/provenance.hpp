// Provenance: what made a run, as text for its file.
#pragma once

#include <map>
#include <string>

#include "data/datasets.hpp"
#include "harness/configuration.hpp"

namespace assay {

/// The attributes of /provenance that reference/formats/run.md lists: build, processor, device, libraries, command line
/// and the SHA-256 of every data file. None of it takes part in a comparison of bits.
std::map<std::string, std::string> provenance(const Configuration& configuration, const Datasets& data,
                                              const std::string& command_line);

}  // namespace assay
