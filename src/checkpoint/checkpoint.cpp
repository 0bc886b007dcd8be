// Writing, checking and choosing checkpoints.
#include "checkpoint/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sabotage.hpp"
#include "numerics/digest.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoint_format = "assay-checkpoint";
constexpr std::uint64_t checkpoint_version = 1;

[[noreturn]] void fail_check(const std::string& where, const std::string& expected, const std::string& found) {
  throw Error("FILE-3", "checkpoint " + where, expected, found);
}

std::string hexadecimal(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

template <class T>
void check_finite_values(std::span<const T> values, const std::string& where) {
  int others = 0;  // a loop that nothing ends takes several elements at a time
  for (const T value : values) others |= !(std::fabs(value) <= std::numeric_limits<T>::max());
  if (others == 0) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!__builtin_isfinite(values[i]))
      fail_check(where, "finite values", "a NaN or infinity at element " + std::to_string(i));
}

void check_finite(const Array& array, const std::string& where) {
  if (array.type == ElementType::float32) check_finite_values(array.view<float>(), where);
  if (array.type == ElementType::float64) check_finite_values(array.view<double>(), where);
}

std::uint64_t digest_of(const Array& array) {
  auto digest = [](const auto& values) { return numerics::digest(values.data(), values.size()); };
  return array.type == ElementType::float32 ? digest(array.view<float>()) : digest(array.view<double>());
}

void check_name(const std::string& name, std::set<std::string>& used, const std::string& where) {
  if (name.empty() || name == "." || name.find('/') != std::string::npos)
    fail_check(where, "names that are not empty and without '/'", "\"" + name + "\"");
  if (!used.insert(name).second) fail_check(where, "each name once", "\"" + name + "\" twice");
}

/// What must hold of every checkpoint, before it is written and after it is read.
void check(const std::string& path, const Checkpoint& checkpoint) {
  if (sabotaged("checkpoints_are_believed")) return;
  std::set<std::string> parameters, arrays, streams;
  for (const StoredParameter& parameter : checkpoint.parameters) {
    const std::string where = path + ": /parameters/" + parameter.name;
    check_name(parameter.name, parameters, path + ": /parameters");
    if (parameter.value.type != ElementType::float32 && parameter.value.type != ElementType::float64)
      fail_check(where, "float32 or float64", element_name(parameter.value.type));
    check_finite(parameter.value, where);
    if (std::uint64_t digest = digest_of(parameter.value); digest != parameter.digest)
      fail_check(where, "the digest " + hexadecimal(parameter.digest), hexadecimal(digest));
  }
  for (const auto& [alias, owner] : checkpoint.aliases) {
    check_name(alias, parameters, path + ": /names/aliases");
    if (std::none_of(checkpoint.parameters.begin(), checkpoint.parameters.end(),
                     [&owner = owner](const StoredParameter& entry) { return entry.name == owner; }))
      fail_check(path + ": /names/owners", "names of parameters", "\"" + owner + "\"");
  }
  for (const NamedArray& array : checkpoint.optimiser_arrays) {
    check_name(array.name, arrays, path + ": /optimiser");
    check_finite(array.array, path + ": /optimiser/" + array.name);
  }
  if (checkpoint.optimiser_scalars.count("kind"))
    fail_check(path + ": /optimiser", "no scalar of the name \"kind\"", "one");
  for (const std::string& stream : checkpoint.random_streams) check_name(stream, streams, path + ": /random/streams");
  if (checkpoint.random_draws.size() != checkpoint.random_streams.size())
    fail_check(path + ": /random/draws",
               std::to_string(checkpoint.random_streams.size()) + " entries, as /random/streams",
               std::to_string(checkpoint.random_draws.size()));
}

std::vector<std::string> dataset_names(const hdf5::Group& group) {
  std::vector<std::string> names;
  for (const hdf5::Child& child : group.children()) {
    if (child.kind != hdf5::Child::Kind::dataset)
      fail_check(group.where() + "/" + child.name, "a dataset", "another object");
    names.push_back(child.name);
  }
  return names;
}

/// Names in order must be those of the group's datasets in creation order.
void check_order(const hdf5::Group& group, const std::vector<std::string>& names) {
  const std::vector<std::string> datasets = dataset_names(group);
  for (std::size_t i = 0; i < names.size() || i < datasets.size(); ++i) {
    auto entry = [i](const std::vector<std::string>& list) {
      return i < list.size() ? "\"" + list[i] + "\"" : "nothing";
    };
    if (entry(names) != entry(datasets) && !sabotaged("order_of_names_unchecked"))
      fail_check(group.where(), entry(names) + " as parameter " + std::to_string(i) + ", as /names/parameters",
                 entry(datasets));
  }
}

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  check(path, checkpoint);
  write_sealed(path, [&](hdf5::Group& root) {
    write_format(root, checkpoint_format, checkpoint_version);
    root.set("step", checkpoint.step);
    root.set("device", checkpoint.device);
    write_configuration(root, checkpoint.configuration);

    std::vector<std::string> names;
    hdf5::Group parameters = root.create_group("parameters");
    for (const StoredParameter& parameter : checkpoint.parameters) {
      names.push_back(parameter.name);
      hdf5::Object dataset = parameters.write(parameter.name, parameter.value);
      dataset.set("axes", parameter.axes);
      dataset.set("version", parameter.version);
      dataset.set("digest", parameter.digest);
    }
    hdf5::Group lists = root.create_group("names");
    lists.write_strings("parameters", names);
    if (!checkpoint.aliases.empty() && !sabotaged("aliases_are_not_filed")) {
      std::vector<std::string> aliases, owners;
      for (const auto& [alias, owner] : checkpoint.aliases) aliases.push_back(alias), owners.push_back(owner);
      lists.write_strings("aliases", aliases);
      lists.write_strings("owners", owners);
    }

    hdf5::Group optimiser = root.create_group("optimiser");
    optimiser.set("kind", checkpoint.optimiser_kind);
    for (const auto& [name, value] : checkpoint.optimiser_scalars) optimiser.set(name, value);
    for (const NamedArray& array : checkpoint.optimiser_arrays) optimiser.write(array.name, array.array);

    hdf5::Group random = root.create_group("random");
    random.write_strings("streams", checkpoint.random_streams);
    random.write("draws", Array::of(checkpoint.random_draws));

    hdf5::Group train = root.create_group("train");
    for (const auto& [name, value] : checkpoint.train) train.set(name, value);
  });
}

Checkpoint load_checkpoint(const std::string& path) { return load_checkpoint(read_sealed(path)); }

Checkpoint load_checkpoint(const SealedBytes& file) {
  const hdf5::Group root = open_format(file, checkpoint_format, checkpoint_version).root;
  Checkpoint checkpoint;
  checkpoint.step = root.get_count("step");
  checkpoint.device = root.get_string("device");
  checkpoint.numerics_version = root.get_count("numerics_version");
  checkpoint.configuration = read_configuration(root);

  const hdf5::Group parameters = root.group("parameters");
  const hdf5::Group lists = root.group("names");
  const std::vector<std::string> names = lists.read_strings("parameters");
  check_order(parameters, names);
  for (const std::string& name : names) {
    const hdf5::Object dataset = parameters.dataset(name);
    checkpoint.parameters.push_back({name, parameters.read(name), dataset.get_string("axes"),
                                     dataset.get_count("version"), dataset.get_count("digest")});
  }

  if (dataset_names(lists).size() > 1) {
    const std::vector<std::string> aliases = lists.read_strings("aliases"), owners = lists.read_strings("owners");
    if (aliases.size() != owners.size())
      fail_check(lists.where() + "/owners", std::to_string(aliases.size()) + " entries, as /names/aliases",
                 std::to_string(owners.size()));
    for (std::size_t i = 0; i < aliases.size(); ++i)
      if (!checkpoint.aliases.emplace(aliases[i], owners[i]).second)
        fail_check(lists.where() + "/aliases", "each name once", "\"" + aliases[i] + "\" twice");
  }

  const hdf5::Group optimiser = root.group("optimiser");
  checkpoint.optimiser_kind = optimiser.get_string("kind");
  for (const std::string& name : optimiser.attributes())
    if (name != "kind") checkpoint.optimiser_scalars[name] = optimiser.get(name);
  for (const std::string& name : dataset_names(optimiser))
    checkpoint.optimiser_arrays.push_back({name, optimiser.read(name)});

  const hdf5::Group random = root.group("random"), train = root.group("train");
  checkpoint.random_streams = random.read_strings("streams");
  checkpoint.random_draws = random.read("draws").values<std::uint64_t>();
  for (const std::string& name : train.attributes()) checkpoint.train[name] = train.get(name);

  check(file.path, checkpoint);
  return checkpoint;
}

std::string checkpoint_path(const std::string& folder, std::uint64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "/step-%08llu.h5", static_cast<unsigned long long>(step));
  return folder + name;
}

std::map<std::uint64_t, std::string> checkpoint_files(const std::string& folder) {
  std::map<std::uint64_t, std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    unsigned long long step = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "step-%18llu", &step) == 1 && checkpoint_path("", step) == "/" + name)
      files[step] = checkpoint_path(folder, step);
  }
  return files;
}

LatestCheckpoint latest_checkpoint(const std::string& folder) {
  LatestCheckpoint latest;
  const auto files = checkpoint_files(folder);
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    try {
      Checkpoint checkpoint = load_checkpoint(file->second);
      if (checkpoint.step != file->first)
        fail_check(file->second + ": /@step", std::to_string(file->first) + ", as the name tells",
                   std::to_string(checkpoint.step));
      latest.checkpoint = std::move(checkpoint);
      latest.path = file->second;
      return latest;
    } catch (const Error& error) {
      if (sabotaged("only_the_newest_checkpoint")) throw;
      latest.refused.push_back({file->second, error.what()});
    }
  }
  return latest;
}

void retain(const std::string& folder, std::uint64_t last_n, std::optional<std::uint64_t> best_step) {
  if (last_n == 0) throw Error("FILE-9", "retain checkpoints of " + folder, "at least 1", "0");
  remove_partial_files(folder);
  const auto files = checkpoint_files(folder);
  std::uint64_t left = files.size();
  for (const auto& [step, path] : files) {
    std::error_code error;
    if (left-- <= last_n || (step == best_step && !sabotaged("the_best_is_removed"))) continue;
    fs::remove(path, error);
    if (error) throw Error("FILE-2", "remove " + path, "a file that can be removed", error.message());
  }
}

}  // namespace assay
