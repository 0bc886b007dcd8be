// Writing and reading tensor files.
#include "checkpoint/tensor_file.hpp"

#include <cstdio>
#include <filesystem>

#include "checkpoint/sealed_file.hpp"

namespace assay {
namespace {

constexpr const char* format = "assay-tensors";
constexpr std::uint64_t tensors_version = 1;

/// The group for `name`, made where it is not there yet, and what follows the last '/'. HDF5 knows no empty names, so a
/// result of no module stands in the group of its phase.
std::string dataset_in(hdf5::Group& group, const std::string& name) {
  std::size_t begin = 0;
  for (std::size_t end; (end = name.find('/', begin)) != std::string::npos; begin = end + 1) {
    const std::string part = name.substr(begin, end - begin);
    if (!part.empty()) group = group.contains(part) ? group.group(part) : group.create_group(part);
  }
  return name.substr(begin);
}

}  // namespace

std::string tensor_path(const std::string& folder, std::uint64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "step-%08llu.h5", static_cast<unsigned long long>(step));
  return folder + "/tensors/" + name;
}

void save_tensors(const std::string& path, std::uint64_t step, const std::vector<NamedArray>& tensors) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  write_sealed(path, [&](hdf5::Group& root) {
    write_format(root, format, tensors_version);
    root.set("step", step);
    std::vector<std::string> names;
    for (const NamedArray& tensor : tensors) {
      names.push_back(tensor.name);
      hdf5::Group group(root.group("/"));
      const std::string dataset = dataset_in(group, tensor.name);
      group.write(dataset, tensor.array);
    }
    root.write_strings("names", names);
  });
}

std::vector<NamedArray> load_tensors(const std::string& path) {
  const SealedFile file = open_format(path, format, tensors_version);
  std::vector<NamedArray> tensors;
  for (const std::string& name : file.root.read_strings("names")) {
    hdf5::Group group(file.root.group("/"));
    const std::string dataset = dataset_in(group, name);
    tensors.push_back({name, group.read(dataset)});
  }
  return tensors;
}

}  // namespace assay
