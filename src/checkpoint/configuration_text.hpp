// The configuration as files keep it: text as read, overrides, and every resolved key.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/hdf5.hpp"

namespace assay {

struct ConfigurationText {
  std::string toml;                    ///< the experiment file as read
  std::vector<std::string> overrides;  ///< "train.steps=200"
  std::string resolved;                ///< JSON of every key with its value, keys sorted

  friend bool operator==(const ConfigurationText&, const ConfigurationText&) = default;
};

/// The group /config of run.h5 and of checkpoints.
void write_configuration(hdf5::Group& root, const ConfigurationText& text);
ConfigurationText read_configuration(const hdf5::Group& root);

}  // namespace assay
