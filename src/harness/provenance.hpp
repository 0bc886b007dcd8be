// Provenance: what made a run, as text for its file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/datasets.hpp"
#include "harness/configuration.hpp"

namespace assay {

/// The attributes of /provenance that reference/formats/run.md lists: build, processor, device, libraries, command line
/// and the SHA-256 of every data file. None of it takes part in a comparison of bits.
std::map<std::string, std::string> provenance(const Configuration& configuration, const Datasets& data,
                                              const std::string& command_line);

/// Name and SHA-256 of every data file, each once, in the order of the sets; in the provenance they are `data.<file>`.
std::vector<DataDigest> data_files(const Datasets& data);

/// Errors: RUN-3 naming the first data file of an earlier run in `folder` that is not read now or has other bytes.
void require_same_data(const std::string& folder, const std::map<std::string, std::string>& provenance,
                       const Datasets& data);

}  // namespace assay
