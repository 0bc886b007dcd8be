// The group /config.
#include "checkpoint/configuration_text.hpp"

namespace assay {

void write_configuration(hdf5::Group& root, const ConfigurationText& text) {
  hdf5::Group group = root.create_group("config");
  group.write_string("toml", text.toml);
  group.write_strings("overrides", text.overrides);
  group.write_string("resolved", text.resolved);
}

ConfigurationText read_configuration(const hdf5::Group& root) {
  hdf5::Group group = root.group("config");
  return {group.read_string("toml"), group.read_strings("overrides"), group.read_string("resolved")};
}

}  // namespace assay
