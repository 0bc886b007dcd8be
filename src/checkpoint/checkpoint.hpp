// Checkpoints: everything that the next step of a run reads, in one sealed file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/array.hpp"
#include "checkpoint/configuration_text.hpp"
#include "checkpoint/hdf5.hpp"
#include "checkpoint/sealed_file.hpp"

namespace assay {

struct StoredParameter {
  std::string name;           ///< dotted, no '/'
  Array value;                ///< float32, or float64 of a reference run
  std::string axes;           ///< shape letters, may be ""
  std::uint64_t version = 0;  ///< of the value, as the tensor counts it
  std::uint64_t digest = 0;   ///< N9 of the value

  friend bool operator==(const StoredParameter&, const StoredParameter&) = default;
};

/// State after `step` steps. Order of parameters, arrays and streams is kept.
struct Checkpoint {
  std::uint64_t step = 0;
  std::string device;
  std::uint64_t numerics_version = assay::numerics_version;
  ConfigurationText configuration;
  std::vector<StoredParameter> parameters;
  std::map<std::string, std::string> aliases;  ///< of tied parameters (REG-15): second name → name in `parameters`

  std::string optimiser_kind;
  std::vector<NamedArray> optimiser_arrays;  ///< for example "first_moment.fc1.weight"
  std::map<std::string, hdf5::Value> optimiser_scalars;

  std::vector<std::string> random_streams;
  std::vector<std::uint64_t> random_draws;  ///< numbers drawn so far, one per stream

  std::map<std::string, hdf5::Value> train;  ///< seed, epoch, position, best step and accuracy …

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Writes a checkpoint as `write_sealed` does: complete, or nothing changed (FILE-2).
/// Throws FILE-3 before anything is written when it would not load: a name used twice, empty or with '/', a value that
/// is not finite, a digest that is not the value's, streams and draws of different number.
///
///     save_checkpoint(checkpoint_path("runs/0001/checkpoints", state.step), state);
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Reads a checkpoint and checks all of it: every byte (FILE-6); versions, names against creation order, types, finite
/// values, digests (FILE-3). Errors name path, object, expected and found.
Checkpoint load_checkpoint(const std::string& path);
/// The same of a file whose bytes were checked. Errors: FILE-3.
Checkpoint load_checkpoint(const SealedBytes& file);

/// "FOLDER/step-00000200.h5"
std::string checkpoint_path(const std::string& folder, std::uint64_t step);

/// The checkpoints of a folder by step, as their names tell. Empty for a folder that does not exist.
std::map<std::uint64_t, std::string> checkpoint_files(const std::string& folder);

/// An entry of `optimiser_scalars` or `train`. Errors: FILE-3 when there is none of that name and type.
///
///     auto steps = entry_of<std::uint64_t>(checkpoint.optimiser_scalars, "step_count");
template <class T>
T entry_of(const std::map<std::string, hdf5::Value>& entries, const std::string& name) {
  const auto entry = entries.find(name);
  if (entry == entries.end()) throw Error("FILE-3", "a checkpoint's entries", "\"" + name + "\"", "none");
  if (const T* value = std::get_if<T>(&entry->second)) return *value;
  throw Error("FILE-3", "a checkpoint's \"" + name + "\"", "the type that is written", "another type");
}

struct RefusedFile {
  std::string path, reason;
};

struct LatestCheckpoint {
  std::optional<Checkpoint> checkpoint;  ///< none when no file of the folder verifies
  std::string path;
  std::vector<RefusedFile> refused;  ///< newer ones that did not verify, newest first, with the error's text
};

/// The newest checkpoint of a folder that verifies (FILE-2). A folder that does not exist holds none.
LatestCheckpoint latest_checkpoint(const std::string& folder);

/// Removes all checkpoints of a folder but the newest `last_n` (at least 1) and the one of `best_step`.
void retain(const std::string& folder, std::uint64_t last_n, std::optional<std::uint64_t> best_step);

}  // namespace assay
