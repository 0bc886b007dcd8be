// Loading of the four IDX files of Fashion-MNIST and its relatives.
#include "data/fashion_mnist.hpp"

#include <filesystem>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/sabotage.hpp"
#include "data/idx.hpp"

namespace assay {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "{";
  for (std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "}";
}

TrainAndTest load(const std::string& folder, const std::map<std::string, std::string>& digests, std::int64_t classes,
                  const std::string& advice) {
  std::set<std::string> names_read;
  const auto read = [&](const std::string& name) {
    std::filesystem::path path = std::filesystem::path(folder) / (name + ".gz");
    if (!std::filesystem::exists(path)) path.replace_extension();
    if (!std::filesystem::exists(path))
      throw Error("RUN-3", "data.path", name + " or " + name + ".gz in " + folder + advice, "neither");
    IdxArray array = read_idx(path.string());
    const std::string file = path.filename().string();
    names_read.insert(file);
    const auto expected = digests.find(file);
    if (expected != digests.end() && expected->second != array.sha256 && !sabotaged("any_data_are_taken"))
      throw Error("RUN-3", "data.digests: SHA-256 of " + array.path, expected->second, array.sha256);
    return array;
  };
  const auto read_set = [&](const std::string& name) {
    const IdxArray images = read(name + "-images-idx3-ubyte");
    return from_idx(name, images, read(name + "-labels-idx1-ubyte"), classes);
  };

  TrainAndTest data{read_set("train"), {}};
  if (classes == 0) classes = data.train.classes;
  data.test = read_set("t10k");
  data.test.name = "test";
  if (data.test.sample_shape != data.train.sample_shape)
    throw Error("FILE-6", "test samples in " + folder,
                "the training samples' shape " + shape_text(data.train.sample_shape),
                shape_text(data.test.sample_shape));
  for (const auto& [file, digest] : digests)
    if (!names_read.count(file)) throw Error("RUN-3", "data.digests", "files that are read", "\"" + file + "\"");
  return data;
}

}  // namespace

TrainAndTest load_idx_folder(const std::string& folder, const std::map<std::string, std::string>& digests) {
  return load(folder, digests, 0, "");
}

TrainAndTest load_fashion_mnist(const std::string& folder, const std::map<std::string, std::string>& digests) {
  TrainAndTest data =
      load(folder, digests, 10,
           " (apt-get install dataset-fashion-mnist brings them, or set data.path to a folder with them)");
  if (data.train.sample_shape != std::vector<std::int64_t>{28, 28})
    throw Error("FILE-6", "training samples in " + folder, "the shape {28, 28} (data.kind = \"idx\" takes any)",
                shape_text(data.train.sample_shape));
  return data;
}

}  // namespace assay
