// Loading of the four IDX files of Fashion-MNIST and its relatives.
#include "data/fashion_mnist.hpp"

#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "data/idx.hpp"

namespace assay {
namespace {

std::string sample_shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "{";
  for (std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "}";
}

TrainAndTest load(const std::string& folder, std::int64_t classes, const std::string& advice) {
  const auto read = [&](const std::string& name) {
    std::filesystem::path path = std::filesystem::path(folder) / (name + ".gz");
    if (!std::filesystem::exists(path)) path.replace_extension();
    if (!std::filesystem::exists(path))
      throw Error("RUN-3", "data.path", name + " or " + name + ".gz in " + folder + advice, "neither");
    return read_idx(path.string());
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
                "the training samples' shape " + sample_shape_text(data.train.sample_shape),
                sample_shape_text(data.test.sample_shape));
  return data;
}

}  // namespace

TrainAndTest load_idx_folder(const std::string& folder) { return load(folder, 0, ""); }

TrainAndTest load_fashion_mnist(const std::string& folder) {
  TrainAndTest data =
      load(folder, 10, " (apt-get install dataset-fashion-mnist brings them, or set data.path to a folder with them)");
  if (data.train.sample_shape != std::vector<std::int64_t>{28, 28})
    throw Error("FILE-6", "training samples in " + folder, "the shape {28, 28} (data.kind = \"idx\" takes any)",
                sample_shape_text(data.train.sample_shape));
  return data;
}

}  // namespace assay
