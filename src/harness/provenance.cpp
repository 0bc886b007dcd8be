// Provenance of a run, gathered from the build and the machine.
#include "harness/provenance.hpp"

#include <unistd.h>

#include <ctime>
#include <set>

#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "base/sha256.hpp"
#include "checkpoint/hdf5.hpp"
#include "device/cpu/isa.hpp"
#include "device/cpu/thread_pool.hpp"
#include "device/device.hpp"

namespace assay {
namespace {

const std::string file_key = "data.";

}  // namespace

std::map<std::string, std::string> provenance(const Configuration& configuration, const Datasets& data,
                                              const std::string& command_line) {
  BuildInfo build = build_info();
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char started[32];
  std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);

  std::map<std::string, std::string> all{
      {"assay_version", build.version},
      {"git_commit", build.git_commit},
      {"git_dirty", build.git_dirty ? "true" : "false"},
      {"compiler", build.compiler},
      {"compiler_flags", build.flags},
      {"build_type", build.build_type},
      {"cpu_model", cpu_model()},
      {"isa", to_string(isa())},
      {"threads", std::to_string(threads())},
      {"device", configuration.run.device},
      {"numerics", configuration.run.numerics},
      {"hostname", host},
      {"started", started},
      {"command_line", command_line},
      {"hdf5_version", hdf5::library_version()},
  };
  if (!build.cuda.empty()) all["cuda_version"] = build.cuda;
  if (configuration.run.device == "cuda") all["gpu"] = describe_devices().back().detail;
  // One digest over all files, and each by name: a set may come from several.
  Sha256 hash;
  for (const DataDigest& digest : data_files(data)) {
    all[file_key + digest.file] = digest.sha256;
    hash.update(std::as_bytes(std::span(digest.file)));
    hash.update(std::as_bytes(std::span(digest.sha256)));
  }
  all["data_digest"] = to_hex(hash.finish());
  return all;
}

std::vector<DataDigest> data_files(const Datasets& data) {
  std::vector<DataDigest> files;
  std::set<std::string> names;
  for (const Dataset* set : {&data.train, &data.validation, &data.test})
    for (const DataDigest& digest : set->digests)
      if (names.insert(digest.file).second) files.push_back(digest);
  return files;
}

void require_same_data(const std::string& folder, const std::map<std::string, std::string>& provenance,
                       const Datasets& data) {
  std::map<std::string, std::string> now;
  for (const DataDigest& digest : data_files(data)) now[file_key + digest.file] = digest.sha256;
  for (const auto& [key, digest] : provenance) {
    if (!key.starts_with(file_key) || sabotaged("changed_data_are_taken")) continue;
    const std::string found = now.count(key) ? now[key] : "no such file";
    if (found != digest)
      throw Error("RUN-3", "data of the run in " + folder + ": " + key.substr(file_key.size()), "SHA-256 " + digest,
                  found);
  }
}

}  // namespace assay
