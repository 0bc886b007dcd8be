// Names of one run and what another run calls the same, from a TOML file.
#pragma once

#include <map>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/run_file.hpp"

namespace assay {

/// Tables "parameters", "optimiser", "masks" and "trace", as the lists in /names of run.h5: a name of the run that is
/// renamed → what it is called from then on. A name that is in no table keeps itself.
struct NameMap {
  std::string file;  ///< for messages
  std::map<std::string, std::map<std::string, std::string>> tables;
};

/// Reads a map of names:
///
///     [parameters]
///     "0.weight" = "fc1.weight"
///
/// Errors: FILE-3 for a file that cannot be read or is no TOML, CMP-4 for an unknown table or a value that is no name.
NameMap read_name_map(const std::string& path);

/// Gives the columns of a run the mapped names; their order stays.
///
/// Errors: CMP-4 naming file and key for a name that the run does not have, or a second column of one name. The table
/// of a list that the run left out (it recorded no digests) is not looked at.
///
///     RunData torch = read_run("runs/torch");
///     rename(torch, read_name_map("runs/torch/names.toml"));
void rename(RunHead& run, const NameMap& map);

/// The same for the parameters and optimiser tensors of a checkpoint of such a run, and for results that it kept.
void rename(Checkpoint& checkpoint, const NameMap& map);
void rename(std::vector<NamedArray>& results, const NameMap& map);

}  // namespace assay
